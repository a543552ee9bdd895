// Which file of lib holds a guarantee. Its row in docs/semantics.md may name it, after the spec: `spec/a/b.spec.ts` of `lib/a/c.ts`.
// Otherwise the path of the spec names it: spec/a/b.spec.ts, and its aspects such as spec/a/b-late.spec.ts, test lib/a/b.ts; where no
// such file is, the spec tests the room lib/a as a whole.

const ROW = /^\| ([A-Z]\d+) \| .+ \| `(spec\/[\w/-]+\.spec\.ts)`(?: of `(lib\/[\w/-]+\.ts)`)? \|$/gm;

/** These run the library in processes of their own or as a bundle, or read its text and its types. */
const APART = [
  ...["spec/chaos/", "spec/docs/", "spec/package/", "spec/entrances/", "spec/examples/"],
  ...[
    "spec/process/host-rejections.spec.ts",
    "spec/service/application/run.spec.ts",
    "spec/service/busy-for-ever.spec.ts",
  ],
  ...["spec/behaviour/handle/hover.spec.ts", "spec/cli/output.spec.ts"],
  ...["spec/testing/exploration/cores.spec.ts", "spec/topology/multilang/host/host-ends.spec.ts"],
];

/**
 * The guarantees of a page: the number, the spec that holds it, and the file of lib, if the row names one.
 * @param {string} page
 */
export function guarantees(page) {
  return [...page.matchAll(ROW)].map(([, number, spec, file]) => ({ number, spec, file }));
}

/**
 * The file or the folder of lib that a guarantee is about.
 * @param {{ spec: string; file?: string | undefined }} guarantee
 * @param {ReadonlySet<string>} files - those of lib
 */
export function holderOf({ spec, file }, files) {
  if (file !== undefined) return file;
  const path = spec.replace(/^spec\//, "lib/").replace(/\.spec\.ts$/, "");
  for (let name = path; ; name = name.replace(/-[^/-]*$/, "")) {
    if (files.has(`${name}.ts`)) return `${name}.ts`;
    if (!/-[^/-]*$/.test(name)) break;
  }
  let folder = path;
  do folder = folder.slice(0, folder.lastIndexOf("/") + 1).replace(/\/$/, "");
  while (folder !== "lib" && ![...files].some((one) => one.startsWith(`${folder}/`)));
  return `${folder}/`;
}

/**
 * What is wrong: guarantees whose spec executes nothing of the file, or of the room, that holds them.
 * @param {readonly { number: string; spec: string; file?: string | undefined }[]} stated
 * @param {ReadonlySet<string>} files - those of lib
 * @param {(spec: string) => readonly string[] | undefined} executedBy - undefined for a spec that did not run
 * @returns {string[]}
 */
export function unheld(stated, files, executedBy) {
  return stated.flatMap((guarantee) => {
    const { number, spec, file } = guarantee;
    const holder = holderOf(guarantee, files);
    if (file !== undefined && !files.has(file)) return [`${number}: there is no ${file}`];
    if (file === undefined && APART.some((path) => spec.startsWith(path))) return [];
    const executed = executedBy(spec);
    if (executed === undefined) return [`${number}: ${spec} did not run`];
    const isHeld = executed.some((one) => (holder.endsWith("/") ? one.startsWith(holder) : one === holder));
    return isHeld ? [] : [`${number}: ${spec} executes nothing of ${holder}`];
  });
}
