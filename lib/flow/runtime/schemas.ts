// The schemas whose tables operations read. A host opens them, and so do operations on flows without a host.

import type { Schema } from "../../store/index.js";
import { FLOW_SCHEMA } from "../journal/tables.js";
import { QUEUE_LIMITS_SCHEMA } from "../queues/declared.js";
import { QUEUE_SCHEMA } from "../queues/tables.js";
import { SCHEDULE_SCHEMA } from "../schedules/tables.js";

export const OPERATED_SCHEMAS: readonly Schema[] = [
  FLOW_SCHEMA,
  QUEUE_SCHEMA,
  QUEUE_LIMITS_SCHEMA,
  SCHEDULE_SCHEMA,
];
