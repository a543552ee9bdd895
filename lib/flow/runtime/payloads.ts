// The values of a host's flows. `null` stands for undefined, which most steps return.

import { errorClassesOf } from "../../host/payload/error-classes.js";
import type { ErrorClass } from "../../host/payload/error-record.js";
import { Payloads as Codecs, type PayloadOptions } from "../../host/payload/payloads.js";
import type { Stored } from "../journal/entry.js";
import * as flowErrors from "./errors.js";
import type { Payloads } from "./port.js";

/**
 * @param errors - the classes that the host's flows register
 * @throws OptionError
 */
export function payloadsOf(options: PayloadOptions, errors: readonly ErrorClass[]): Payloads {
  const classes = [...errorClassesOf(flowErrors), ...errors, ...(options.errors ?? [])];
  const codecs = new Codecs({ ...options, errors: [...new Set(classes)] });
  return {
    limits: codecs.limits,
    encode: (value, where, root) => (value === undefined ? null : codecs.store(value, root, where)),
    encodeThrown: (thrown) => codecs.storeThrown(thrown),
    decode: (stored: Stored) => (stored === null ? undefined : codecs.load(stored)),
  };
}
