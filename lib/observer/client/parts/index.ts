// What pages are built of.

export { statusTone, type Tone } from "../model/tone.js";
export { Chart, type ChartProps } from "./chart.js";
export { Choice, type ChoiceProps } from "./choice.js";
export { type FigureMore, figureColumn, timeColumn } from "./columns.js";
export { Confirm, type ConfirmProps } from "./confirm.js";
export { Empty, type EmptyProps, Loading, Problem } from "./empty.js";
export {
  Badge,
  Bar,
  Num,
  type NumProps,
  PidLink,
  type PidLinkProps,
  Spark,
  type SparkProps,
  Time,
  type TimeProps,
} from "./figures.js";
export { CrashStory, INCIDENT_COLUMNS, IncidentKindBadge, IncidentPlace, KEEP_HISTORY } from "./incident.js";
export {
  type Items,
  itemsOf,
  Listed,
  type ListedProps,
  Looked,
  type LookedProps,
  NO_ITEMS,
} from "./listed.js";
export { Page, type PageProps, Section, type SectionProps } from "./page.js";
export { Scroll, type ScrollProps } from "./scroll.js";
export { Search, type SearchProps } from "./search.js";
export { type Column, Copy, Table, type TableProps } from "./table.js";
