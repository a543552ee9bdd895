// The pages, in the order of the navigation.

import type { PageSpec } from "../shell/page-spec.js";
import { page as incidents } from "./incidents.js";
import { page as now } from "./now.js";
import { page as processes } from "./processes.js";
import { page as tree } from "./tree.js";

export const PAGES: readonly PageSpec[] = [now, tree, processes, incidents];
