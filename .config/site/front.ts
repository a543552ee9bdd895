// The front page: what signalbox is, and the beginning and the quick start of the README.

import type { Section } from "./sidebar.js";

/** A section of the README, with its heading. */
function section(readme: string, title: string): string {
  const text = readme.split(/^(?=## )/m).find((part) => part.startsWith(`## ${title}\n`));
  if (text === undefined) throw new Error(`README.md has no section "${title}"`);
  return text.trim();
}

/** What stands between the title of the README and its first section. */
const introduction = (readme: string): string => readme.replace(/^# .*$/m, "").split(/^## /m)[0]?.trim() ?? "";

const FEATURES: readonly (readonly [title: string, details: string, link: string])[] = [
  ["Processes, links, supervisors", "A crash ends one process, its links learn of it at once, and its supervisor starts it again.", "/guide.html"],
  ["Durable flows", "An async function whose steps survive kill -9, on a file or on PostgreSQL, without a server.", "/guide/flows.html"],
  ["Pipelines", "Jobs of many stages over many messages, complete once and exactly, with retries and dead letters.", "/guide/pipelines.html"],
  ["Topologies", "Streams of tuples, each tracked until it is done. Every task is supervised.", "/guide.html#topologies"],
  ["A whole service", "Shutdown in order, health checks, circuit breakers, rate limits, telemetry.", "/guide/applications.html"],
  ["A simulator for your service", "Thousands of schedules with crashes in the worst places, and the shortest one that breaks it.", "/testing.html"],
];

/** @param sections - of the sidebar: the page links to the first page of each */
export function frontPage(readme: string, sections: readonly Section[]): string {
  const links = sections.map(({ text, items }) => `- [${text}](${items[0]?.link}): ${items.length} pages`);
  const matter = {
    layout: "home",
    title: "Fault-tolerant services on Node",
    hero: {
      name: "signalbox",
      text: "Fault-tolerant services on Node",
      tagline: "Processes that crash alone, supervisors that start them again, work that is done once. In TypeScript.",
      actions: [
        { theme: "brand", text: "Quick start", link: "#quick-start" },
        { theme: "alt", text: "The guide", link: "/guide.html" },
      ],
    },
    features: FEATURES.map(([title, details, link]) => ({ title, details, link })),
  };
  // YAML reads JSON.
  return `---\n${JSON.stringify(matter)}\n---\n\n## Whom it helps\n\n${introduction(readme)}\n\n${section(readme, "Quick start")}\n\n## Where to go on\n\n${links.join("\n")}\n`;
}
