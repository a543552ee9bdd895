export * from "./process/index.js";
export { System } from "./system.js";
