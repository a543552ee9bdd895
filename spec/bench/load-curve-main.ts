// `npm run load-curve`: what a topology gets done under any load, as a table.

import { curveTable, LOADS, type LoadPoint, loadPoint } from "./load-curve.js";

const points: LoadPoint[] = [];
for (const load of LOADS) points.push(await loadPoint(load));
console.log(curveTable(points));
