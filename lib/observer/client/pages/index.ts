// The pages, in the order of the navigation.

import type { PageSpec } from "../shell/page-spec.js";
import { page as now } from "./now.js";
import { page as processes } from "./processes.js";

export const PAGES: readonly PageSpec[] = [now, processes];
