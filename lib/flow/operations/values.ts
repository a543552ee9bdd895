// How values become durable, as far as operations need to know.

import type { Payloads } from "../runtime/port.js";

export type Values = Pick<Payloads, "encode" | "decode">;
