// The two topologies of the proof, in folders of their own: what they read there, how far they are, and whether what they
// left is exact. Their modules and their results are those of examples/.

import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const examples = join(root, "examples");

/** Loads a module of the examples, with those that it imports, as one file that is written into this folder. */
async function load(path, folder) {
  const bundle = await rolldown({
    input: join(examples, path),
    platform: "node",
    external: /^signalbox/,
    resolve: { extensionAlias: { ".js": [".ts"] } },
  });
  const file = join(folder, path.replaceAll("/", "-").replace(/ts$/, "mjs"));
  await bundle.write({ file, codeSplitting: false });
  await bundle.close();
  return import(file);
}

const WORDS_OF_A_LINE = 10;
const DIFFERENT_WORDS = 500;
const FLIGHTS = 4_000;

/** Words that come at different rates, so that no two counters have the same work. */
const lineOf = (line) =>
  Array.from({ length: WORDS_OF_A_LINE }, (_, at) => `w${(line * (at + 7) + at * at) % DIFFERENT_WORDS}`);

/** The word count: some lines at the beginning, and more of them later. */
export async function wordCountIn(folder, lines) {
  mkdirSync(folder, { recursive: true });
  const { default: topology, stormResults } = await load("wordcount/storm.ts", folder);
  const { readJournal } = await load("wordcount/journal.ts", folder);
  const { components, config } = topology.blueprint;
  const { compare, StraightCount } = await load("wordcount/totals.ts", folder);
  const straight = new StraightCount();
  const add = (more) => {
    for (let n = 0; n < more; n++) {
      const words = lineOf(straight.lines);
      straight.add(words);
      appendFileSync(join(folder, "text.txt"), `${words.join(" ")}\n`);
    }
  };
  add(lines);
  return {
    module: join(examples, "wordcount/storm.ts"),
    env: { WORDCOUNT_FOLDER: folder },
    add,
    get lines() {
      return straight.lines;
    },
    get words() {
      return straight.words;
    },
    /** Its components under Storm: each task is a program. */
    tasks: components.reduce((sum, { tasks }) => sum + tasks, 0),
    /** The lines that may be on their way. */
    pending: config.maxPending,
    done: () => new Set(readJournal(join(folder, "done.log"))).size,
    differences: () => {
      const { lost, surplus } = compare(straight.counts, stormResults(folder).counts);
      return [
        ...(lost > 0 ? [`${lost} words lost`] : []),
        ...(surplus > 0 ? [`${surplus} words counted again`] : []),
      ];
    },
  };
}

/** The first flights of vega-datasets. */
export async function flightsIn(folder) {
  mkdirSync(folder, { recursive: true });
  const { STORM_PLAN, stormFindings } = await load("flights-stream/storm.ts", folder);
  const { readJournal } = await load("wordcount/journal.ts", folder);
  const { differences, straightAnswer } = await load("flights-stream/straight.ts", folder);
  const { parseFlights } = await load("flights-stream/flights.ts", folder);
  const records = JSON.parse(
    readFileSync(join(root, "node_modules/vega-datasets/data/flights-20k.json"), "utf8"),
  )
    .toSorted((one, other) => (one.date < other.date ? -1 : 1))
    .slice(0, FLIGHTS);
  const text = JSON.stringify(records);
  writeFileSync(join(folder, "flights.json"), text);
  const flights = parseFlights("flights.json", text);
  const answer = straightAnswer(flights, STORM_PLAN);
  return {
    module: join(examples, "flights-stream/storm.ts"),
    env: { FLIGHTS_FOLDER: folder },
    flights: flights.length,
    hours: answer.rows.size,
    windows: answer.windows.size,
    done: () => readJournal(join(folder, "done.log")).length,
    differences: () => {
      const found = stormFindings(folder);
      return [...differences(found, answer), ...(found.failed > 0 ? [`${found.failed} flights failed`] : [])];
    },
  };
}
