// VitePress looks for the theme here.

export { default } from "../../theme/index.js";
