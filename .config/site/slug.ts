// Anchors of headings as GitHub makes them, so that a link leads to the same place there and on the site.

/** The anchor of a heading, by its text. */
export function slug(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");
}
