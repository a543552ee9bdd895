// The page that is built into the package.

import { PageFiles, type PageTexts } from "./page-files.js";

/** Loaded with the first request for it. */
export const builtPage: PageFiles = /* @__PURE__ */ new PageFiles(
  async (): Promise<PageTexts> => import("../page/assets.js"),
);
