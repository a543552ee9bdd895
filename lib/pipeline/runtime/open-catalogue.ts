// Opens the executions of a host, where its options say.

import type { OpenCatalogue } from "./host-process.js";
import { StoreCatalogue } from "./store-catalogue.js";
import { VolatileCatalogue } from "./volatile-catalogue.js";

/** @throws PipelineHostTakenError, StoreError */
export const openCatalogue: OpenCatalogue = async (kernel, tell, settings) =>
  settings.store === undefined ? new VolatileCatalogue(kernel) : StoreCatalogue.open(kernel, tell, settings);
