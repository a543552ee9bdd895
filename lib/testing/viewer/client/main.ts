// The script of the page that a failing exploration writes.

import type { Picture } from "../picture.js";
import { part } from "./elements.js";
import { openViewer } from "./viewer.js";

openViewer(document, JSON.parse(part(document, "trace").textContent ?? "") as Picture, document);
