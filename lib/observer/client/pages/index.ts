// The pages, in the order of the navigation.

import type { PageSpec } from "../shell/page-spec.js";
import { page as flow } from "./flow.js";
import { page as flowQueues } from "./flow-queues.js";
import { page as flows } from "./flows.js";
import { page as groups } from "./groups.js";
import { page as incidents } from "./incidents.js";
import { page as lineage } from "./lineage.js";
import { page as message } from "./message.js";
import { page as nodes } from "./nodes.js";
import { page as now } from "./now.js";
import { page as pipeline } from "./pipeline.js";
import { page as pipelines } from "./pipelines.js";
import { page as process } from "./process.js";
import { page as processes } from "./processes.js";
import { page as queues } from "./queues.js";
import { page as schedules } from "./schedules.js";
import { page as simulator } from "./simulator.js";
import { page as topologies } from "./topologies.js";
import { page as tree } from "./tree.js";

export const PAGES: readonly PageSpec[] = [
  ...[now, tree, processes, process, incidents, nodes],
  ...[topologies, flows, flow, schedules, flowQueues, pipelines, pipeline, lineage, queues, groups],
  ...[message, simulator],
];
