// The program that Storm starts for each component: it looks at the version of Node before it loads anything, in syntax that an old Node
// reads, too.

import { Misuse } from "../shell/arguments.js";
import { BUNDLE } from "./jar.js";

/** The oldest Node that runs signalbox, unless the user asks for a newer one. */
export const NODE_VERSION = "20.19";

/** The text of a version, such as `22` or `22.4.1`. @throws Misuse */
export function nodeVersion(text: string, option: string): string {
  if (/^\d{1,4}(\.\d{1,4}){0,2}$/.test(text)) return text;
  throw new Misuse(`--${option} must be a version such as 22 or 22.4; got ${JSON.stringify(text)}`);
}

/**
 * The text of `component.mjs`.
 *
 * @param exported - the name by which the module exports the topology
 * @param wanted - the least version of Node
 */
export function wrapperOf(exported: string, wanted: string = NODE_VERSION): string {
  return `// Runs one component of a topology under Apache Storm. Written by "signalbox storm export".
var wanted = ${JSON.stringify(wanted)};
var have = process.versions.node;

function isOlder(version, least) {
  var parts = version.split(".");
  var leastParts = least.split(".");
  for (var i = 0; i < leastParts.length; i++) {
    var difference = parseInt(parts[i] || "0", 10) - parseInt(leastParts[i], 10);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

// Storm shows the standard error of a component that ends before it has answered.
function end(text) {
  process.stderr.write(text + "\\n", function () {
    process.exit(1);
  });
}

if (isOlder(have, wanted)) {
  end("signalbox: this topology needs Node " + wanted + " or later, and " + process.execPath + " is Node " + have);
} else {
  import("./${BUNDLE}")
    .then(function (topology) {
      return topology.run(${JSON.stringify(exported)});
    })
    .then(function () {
      // Storm is gone. Timers or connections of the module would keep this program for ever. All output is written first.
      process.stdout.write("", function () {
        process.exit(0);
      });
    })
    .catch(function (error) {
      end("signalbox: " + ((error && error.stack) || error));
    });
}
`;
}
