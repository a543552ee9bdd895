// Makes elements. Texts of a trace only ever become text nodes, so that no message can become markup.

type Attributes = Readonly<Record<string, string | number>>;

export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...content: (string | Node)[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...content);
  return made;
}

export function shape<Name extends keyof SVGElementTagNameMap>(
  name: Name,
  attributes: Attributes,
): SVGElementTagNameMap[Name] {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

/** Where the viewer is: a page of its own, or a part of another page that keeps its names and styles to itself. */
export type Room = Document | ShadowRoot;

/** The element of the viewer with this id. */
export function part<Type extends Element>(room: Room, id: string): Type {
  return room.getElementById(id) as unknown as Type;
}
