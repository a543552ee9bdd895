// The looks of the viewer, in light and dark: as a page of its own, or inside a part of another page.

/** @param container - the selector of the element that holds the viewer, which has a height */
export function viewerStyle(container: string): string {
  return `
* { box-sizing: border-box; }
${container} { display: grid; grid-template: auto 1fr / 1fr minmax(18rem, 28%); color: var(--ink);
  background: var(--paper); font: 14px/1.45 system-ui, sans-serif; }
header { grid-column: 1 / -1; display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; padding: .5rem .75rem;
  border-bottom: 1px solid var(--rule); background: var(--band); }
.title { flex: 1 1 20rem; margin: 0; font-size: 1rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
nav { display: flex; gap: .35rem; align-items: center; }
nav button, #search { font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--rule); border-radius: 4px;
  padding: .15rem .55rem; }
#slider { width: 14rem; }
:focus-visible { outline: 2px solid var(--mark); outline-offset: 1px; }
#diagram { overflow: auto; min-width: 0; }
#lanes { position: sticky; top: 0; z-index: 3; height: 3rem; background: var(--band); border-bottom: 1px solid var(--rule); }
.lane { position: absolute; top: 0; height: 3rem; padding: .25rem .4rem; text-align: center; overflow: hidden; }
.lane b, .lane small { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.lane small { color: var(--pale); }
#canvas { position: relative; }
#canvas svg { position: absolute; inset: 0; }
.life { stroke: var(--rule); stroke-width: 2; }
.message { fill: none; stroke: var(--pale); stroke-width: 1.2; }
.message.open, .message.reply { stroke-dasharray: 1 3; stroke-linecap: round; }
.message.lost { stroke: var(--struck); stroke-dasharray: 4 3; }
.message.present { stroke: var(--mark); stroke-width: 2.2; }
.message.later { opacity: .3; }
.step.later { opacity: .55; }
.time { position: absolute; left: .5rem; font-size: 12px; color: var(--pale); line-height: 26px; }
.step { position: absolute; scroll-margin: 6rem; z-index: 1; height: 22px; padding: 0 .4rem; font: 12px/20px system-ui, sans-serif; text-align: left;
  color: var(--ink); background: var(--step); border: 1px solid var(--rule); border-radius: 4px; overflow: hidden;
  text-overflow: ellipsis; white-space: nowrap; cursor: pointer; }
.step.struck { background: var(--struck-band); border-color: var(--struck); }
.step[aria-current] { border: 2px solid var(--mark); z-index: 2; font-weight: 600; }
#panel { overflow: auto; padding: .75rem; border-left: 1px solid var(--rule); overflow-wrap: anywhere; }
h2 { margin: 0 0 .25rem; font-size: 1rem; }
h3 { margin: 0; font-size: .9rem; }
#panel ul, #panel ol { margin: .25rem 0; padding-left: 1.4rem; }
#panel li, .failure { font: 12px/1.5 ui-monospace, monospace; white-space: pre-wrap; }
#panel p { margin: .2rem 0; }
.place, .over { color: var(--pale); }
p.struck, .failure { color: var(--struck); }
#panel section { margin-top: .5rem; padding: .35rem .5rem; border: 1px solid var(--rule); border-radius: 4px; }
#panel section.present { border-color: var(--mark); }
.status { font-weight: 400; color: var(--pale); }
@media (max-width: 52rem) { ${container} { grid-template: auto 1fr 40vh / minmax(0, 1fr); } .title { flex-basis: 100%; } nav { min-width: 0; }
  #slider { flex: 1 1 6rem; min-width: 0; width: 6rem; } #search { min-width: 0; flex: 1; } #panel { border-left: 0; border-top: 1px solid var(--rule); } }
`;
}

/** The style of a whole page. */
export const STYLE: string = `
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --pale: #59626b; --rule: #d5dae0; --band: #f4f6f8;
  --mark: #0b57d0; --step: #e7eefb; --struck: #b3261e; --struck-band: #fde7e5; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e6ea; --paper: #14171b; --pale: #98a2ad; --rule: #343a41;
  --band: #1d2126; --mark: #8ab4f8; --step: #22304a; --struck: #ff9d94; --struck-band: #4a1f1b; } }
body { margin: 0; height: 100vh; }${viewerStyle("body")}`;
