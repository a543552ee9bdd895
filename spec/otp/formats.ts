// Every format of traces of behaviours; behaviours.ts tells how to add one.

import type { BehaviourFormat } from "./behaviours.js";
import { serverFormat } from "./server.js";
import { statemFormat } from "./statem.js";

export const FORMATS: readonly BehaviourFormat[] = [serverFormat, statemFormat];
