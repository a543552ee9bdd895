// Draws bars of figures that are compared row by row, as SVG: no browser and no script, readable on a phone, light and dark.

export interface Bar {
  readonly name: string;
  readonly value: number;
  /** The value with its unit. */
  readonly shown: string;
}

export interface Group {
  readonly name: string;
  /** Said at the right of the name: `8.8 x OTP`. */
  readonly verdict: string;
  /** Ours first. All are of one unit; the longest fills the width. */
  readonly bars: readonly Bar[];
}

export interface Chart {
  readonly title: string;
  /** The same as the picture, in words. */
  readonly description: string;
  readonly groups: readonly Group[];
}

/** Sizes in units of the picture; a phone shows the whole width of 480 in some 350 pixels. */
const WIDTH = 480;
const NAMES = 92;
const VALUES = 84;
const BAR = 16;
const HEAD = 24;
const GAP = 14;
const PAD = 12;

const STYLE = `
  svg { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: #1f2328; }
  .page { fill: #ffffff; } .name { font-weight: bold; } .ours { fill: #0a57c2; } .other { fill: #8c959f; } .verdict { fill: #0a57c2; font-weight: bold; }
  @media (prefers-color-scheme: dark) {
    svg { fill: #e6edf3; } .page { fill: #0d1117; } .ours { fill: #6cb0ff; } .other { fill: #6e7781; } .verdict { fill: #6cb0ff; }
  }
  `;

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

/** The chart as an SVG file. */
export function drawChart({ title, description, groups }: Chart): string {
  const drawn: string[] = [];
  let y = PAD;
  for (const { name, verdict, bars } of groups) {
    drawn.push(text(PAD, y + 15, name, "name"), text(WIDTH - PAD, y + 15, verdict, "verdict", "end"));
    y += HEAD;
    const most = Math.max(...bars.map(({ value }) => value));
    for (const [i, bar] of bars.entries()) {
      // What is there is seen: at least one unit.
      const width = Math.max(1, ((WIDTH - 2 * PAD - NAMES - VALUES) * bar.value) / most);
      const x = PAD + NAMES;
      drawn.push(
        text(PAD, y + 12, bar.name),
        `<rect class="${i === 0 ? "ours" : "other"}" x="${x}" y="${y + 1}" width="${width.toFixed(1)}" height="${BAR - 3}" rx="2"/>`,
        text(Number((x + width + 6).toFixed(1)), y + 12, bar.shown),
      );
      y += BAR;
    }
    y += GAP;
  }
  const height = y - GAP + PAD;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title description">
  <title id="title">${escaped(title)}</title>
  <desc id="description">${escaped(description)}</desc>
  <style>${STYLE}</style>
  <rect class="page" width="${WIDTH}" height="${height}" rx="8"/>
  ${drawn.join("\n  ")}
</svg>
`;
}

function text(x: number, y: number, value: string, kind?: string, anchor?: string): string {
  const attributes = `${kind === undefined ? "" : ` class="${kind}"`}${anchor === undefined ? "" : ` text-anchor="${anchor}"`}`;
  return `<text${attributes} x="${x}" y="${y}">${escaped(value)}</text>`;
}
