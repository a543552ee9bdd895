// The two topologies of the proof, in folders of their own: what they read there, how far they are, and whether what they
// left is exact. Their modules and their results are those of examples/.

import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const load = (path) => import(join(root, ".build/examples", path));

const WORDS_OF_A_LINE = 10;
const DIFFERENT_WORDS = 500;
const FLIGHTS = 4_000;

/** Words that come at different rates, so that no two counters have the same work. */
const lineOf = (line) =>
  Array.from({ length: WORDS_OF_A_LINE }, (_, at) => `w${(line * (at + 7) + at * at) % DIFFERENT_WORDS}`);

/** The word count: some lines at the beginning, and more of them later. */
export async function wordCountIn(folder, lines) {
  const { default: topology, stormResults } = await load("wordcount/storm.js");
  const { readJournal } = await load("wordcount/journal.js");
  const { components, config } = topology.blueprint;
  const { compare, StraightCount } = await load("wordcount/totals.js");
  const straight = new StraightCount();
  mkdirSync(folder, { recursive: true });
  const add = (more) => {
    for (let n = 0; n < more; n++) {
      const words = lineOf(straight.lines);
      straight.add(words);
      appendFileSync(join(folder, "text.txt"), `${words.join(" ")}\n`);
    }
  };
  add(lines);
  return {
    module: join(root, "examples/wordcount/storm.ts"),
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
  const { STORM_PLAN, stormFindings } = await load("flights-stream/storm.js");
  const { readJournal } = await load("wordcount/journal.js");
  const { differences, straightAnswer } = await load("flights-stream/straight.js");
  const { parseFlights } = await load("flights-stream/flights.js");
  mkdirSync(folder, { recursive: true });
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
    module: join(root, "examples/flights-stream/storm.ts"),
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
