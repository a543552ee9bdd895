// The place of code, from the folder in which people work.

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
