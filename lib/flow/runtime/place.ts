// The place in the user's code that asked for something: file, line and column.

/** Finds in a stack the first frame outside of this library's floor of flows. */
export function placeOf(stack: string | undefined): string | undefined {
  for (const line of stack?.split("\n").slice(1) ?? []) {
    const place = /\(?((?:file:\/\/|\/|[A-Za-z]:\\|node:)[^()]*:\d+:\d+)\)?$/.exec(line.trim())?.[1];
    if (place !== undefined && !OURS.test(place) && !place.startsWith("node:"))
      return place.replace(/^file:\/\//, "");
  }
  return undefined;
}

/** Sources of the library, and its published bundles. */
const OURS = /[\\/](?:lib[\\/]flow[\\/]|dist[\\/](?:chunks[\\/])?(?:flow|process|store)[\\/.])/;
