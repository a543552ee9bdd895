export * from "./behaviour/index.js";
export * from "./dispatch/index.js";
export * from "./process/index.js";
export * from "./supervisor/index.js";
export { System } from "./system.js";
