// Page 04 of the course, supervisors: which processes of a tree are new after one of them has ended.

import { defineServer, System, supervisor } from "signalbox";

const NAMES = ["shelf", "till", "kitchen", "kettle", "oven"] as const;
export type Name = (typeof NAMES)[number];

const Part = defineServer({ init: () => ({}) });
const part = (name: Name) => ({ id: name, name, start: Part });

const Kitchen = supervisor({ label: "kitchen", children: [part("kettle"), part("oven")] });
const Shop = supervisor({
  label: "shop",
  children: [part("shelf"), part("till"), { id: "kitchen", name: "kitchen", start: Kitchen }],
});

/** Starts the tree, ends one of its processes, and returns the names that belong to a new process then. */
export async function replaced(system: System, victim: Name): Promise<Name[]> {
  await system.start(Shop);
  const before = NAMES.map((name) => system.whereis(name));
  system.exit(victim, "kill");
  await system.idle();
  return NAMES.filter((name, i) => system.whereis(name) !== before[i]);
}

if (import.meta.filename === process.argv[1]) {
  for (const victim of ["kettle", "kitchen"] as const) {
    await using system = new System({ name: "tea", report: false });
    console.log(victim, "ends; new are:", await replaced(system, victim));
  }
}
