// The files of the page, as texts. assets.js is generated from ../client/ by .config/observer-page.mjs.

/** `index.html`. */
export declare const INDEX: string;
/** `app.js`. */
export declare const SCRIPT: string;
/** `app.css`. */
export declare const STYLE: string;
/** `icon.svg`. */
export declare const ICON: string;
