// The values of a host's flows. `null` stands for undefined, which most steps return.

import { errorClassesOf } from "../../host/payload/error-classes.js";
import type { ErrorClass } from "../../host/payload/error-record.js";
import { type PayloadOptions, Payloads } from "../../host/payload/payloads.js";
import { type Values, valueCodec } from "../../host/payload/values.js";
import * as flowErrors from "./errors.js";

/**
 * @param errors - the classes that the host's flows register
 * @throws OptionError
 */
export function payloadsOf(options: PayloadOptions, errors: readonly ErrorClass[]): Values {
  const classes = [...errorClassesOf(flowErrors), ...errors, ...(options.errors ?? [])];
  const payloads = new Payloads({ ...options, errors: [...new Set(classes)] });
  return {
    limits: payloads.limits,
    ...valueCodec(payloads),
    encodeThrown: (thrown) => payloads.storeThrown(thrown),
  };
}
