// The place of code: the first line of a stack trace that belongs neither to the library nor to Node.

/** A file and a position at the end of a stack line: in brackets after a function's name, or bare. */
const FRAME = /(?:\(|^at (?:async )?)((?:file:\/\/|\/|[A-Za-z]:[\\/])[^()]+:\d+:\d+)\)?$/;
const MODULES = /[\\/]node_modules[\\/]/;
/** `/D:/box/lib/testing/report/place.ts` of a module's URL; a path of Windows begins with its drive. */
const SELF =
  /^(?:file:\/\/(?:\/(?=[A-Za-z]:))?)?(?:(.*\/)testing\/report\/place\.[jt]s|(.*\/dist\/)(?:chunks\/[^/]+|testing\/index)\.js)/;

/** The folder of the library, in the forms in which stack lines write it; none when the library is bundled into other code. */
export function folders(url: string): readonly string[] {
  const found = SELF.exec(url);
  const own = found?.[1] ?? found?.[2];
  return own === undefined ? [] : [own, decodeURI(own)];
}

export const OWN: readonly string[] = folders(import.meta.url);

/** For example `/home/me/shop/spec/shop.spec.ts:12:9`; undefined when all lines belong to the library. */
export function placeOf(stack: string, own: readonly string[] = OWN): string | undefined {
  for (const line of stack.split("\n").slice(1)) {
    const found = FRAME.exec(line.trim())?.[1];
    if (found === undefined || MODULES.test(found)) continue;
    const path = found.replaceAll("\\", "/");
    if (!own.some((folder) => path.includes(folder))) return found;
  }
  return undefined;
}

/** The place from a folder, as `spec/shop.spec.ts:12:9`; outside of the folder the whole path. */
export function relativePlace(place: string, folder: string): string {
  const path = place.startsWith("file://") ? pathOf(place) : place;
  const above = folder.endsWith("/") ? folder : `${folder}/`;
  return path.startsWith(above) ? path.slice(above.length) : path;
}

/** A path of Windows begins with its drive. */
function pathOf(url: string): string {
  try {
    return decodeURI(url).replace(/^file:\/\/(?:\/(?=[A-Za-z]:))?/, "");
  } catch {
    return url;
  }
}
