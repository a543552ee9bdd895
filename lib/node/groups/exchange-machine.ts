// Decides which consumers of other nodes are members of the groups here, as a pure machine. Each node announces its own consumers to every
// other node: all of them when the two meet, then each change. A node announces no consumers of others, so two nodes cannot contradict each
// other. When a node is lost, its consumers are removed.
//
//     remote members here  =  consumers that nodes which are up have announced, in groups that exist here
//
// `C` is the announcement of a consumer. For speed the state changes in place: a group may have very many consumers, and no code keeps an
// old state.

/** An announcement from one node to another. */
export type News<C> =
  /** All its consumers, by group. This replaces all earlier announcements. */
  | { readonly type: "all"; readonly groups: ReadonlyMap<string, readonly C[]> }
  | { readonly type: "joined"; readonly group: string; readonly member: C }
  | { readonly type: "left"; readonly group: string; readonly id: string };

export interface Named {
  readonly id: string;
}

type Members<C> = Map<string, C>;
type Groups<C> = Map<string, Members<C>>;

interface Told<C> {
  /** False: its news came before the notice that the node is up, so nothing has been announced to it yet. */
  isUp: boolean;
  readonly groups: Groups<C>;
}

export interface Exchange<C> {
  /** The groups of this node, with its own consumers. */
  readonly own: Groups<C>;
  /** The consumers that each node has announced since its connection began. */
  readonly told: Map<string, Told<C>>;
}

export type ExchangeEvent<C> =
  /** A group of this name was created here. */
  | { readonly type: "shared"; readonly group: string }
  /** A consumer of this node has joined a group, or left it. */
  | { readonly type: "joined"; readonly group: string; readonly member: C }
  | { readonly type: "left"; readonly group: string; readonly id: string }
  /** The connection to a node has begun, or is lost. */
  | { readonly type: "up" | "down"; readonly node: string }
  | { readonly type: "news"; readonly node: string; readonly news: News<C> };

export type ExchangeEffect<C> =
  | { readonly type: "tell"; readonly node: string; readonly news: News<C> }
  /** A consumer of another node becomes a member here, or is removed. `isLost`: it is removed because the connection is lost. */
  | { readonly type: "admit"; readonly node: string; readonly group: string; readonly member: C }
  | {
      readonly type: "dismiss";
      readonly node: string;
      readonly group: string;
      readonly id: string;
      readonly isLost: boolean;
    };

type Effects<C> = readonly ExchangeEffect<C>[];

export function initialExchange<C>(): Exchange<C> {
  return { own: new Map(), told: new Map() };
}

/** One transition. */
export function decide<C extends Named>(
  state: Exchange<C>,
  event: ExchangeEvent<C>,
): readonly [Exchange<C>, Effects<C>] {
  return [state, effectsOf(state, event)];
}

function effectsOf<C extends Named>(state: Exchange<C>, event: ExchangeEvent<C>): Effects<C> {
  const { own, told } = state;
  switch (event.type) {
    case "shared":
      return shared(state, event.group);
    case "joined": {
      const { group, member } = event;
      membersOf(own, group).set(member.id, member);
      return tellAll(state, { type: "joined", group, member });
    }
    case "left": {
      const { group, id } = event;
      return own.get(group)?.delete(id) === true ? tellAll(state, { type: "left", group, id }) : [];
    }
    case "up": {
      told.set(event.node, { groups: new Map(), ...told.get(event.node), isUp: true });
      const groups = new Map([...own].map(([group, members]) => [group, [...members.values()]]));
      return [{ type: "tell", node: event.node, news: { type: "all", groups } }];
    }
    case "down":
      return forget(state, event.node, true);
    case "news":
      return heard(state, event.node, event.news);
    default:
      return event satisfies never;
  }
}

function shared<C extends Named>({ own, told }: Exchange<C>, group: string): Effects<C> {
  if (own.has(group)) return [];
  own.set(group, new Map());
  return [...told].flatMap(([node, { groups }]) =>
    [...(groups.get(group)?.values() ?? [])].map(
      (member) => ({ type: "admit", node, group, member }) as const,
    ),
  );
}

function forget<C>({ own, told }: Exchange<C>, node: string, isLost: boolean): Effects<C> {
  const groups = told.get(node)?.groups ?? new Map<string, Members<C>>();
  told.delete(node);
  return [...groups]
    .filter(([group]) => own.has(group))
    .flatMap(([group, members]) =>
      [...members.keys()].map((id) => ({ type: "dismiss", node, group, id, isLost }) as const),
    );
}

/** News can come before the notice that the node is up, but not after the notice that it is lost. */
function heard<C extends Named>(state: Exchange<C>, node: string, news: News<C>): Effects<C> {
  const told = state.told.get(node) ?? { isUp: false, groups: new Map<string, Members<C>>() };
  state.told.set(node, told);
  if (news.type === "all") {
    const before = forget(state, node, false);
    state.told.set(node, { isUp: told.isUp, groups: new Map() });
    const all = [...news.groups].flatMap(([group, members]) => members.map((member) => ({ group, member })));
    return [...before, ...all.flatMap(({ group, member }) => admit(state, node, group, member))];
  }
  if (news.type === "joined") return admit(state, node, news.group, news.member);
  const { group, id } = news;
  const wasThere = told.groups.get(group)?.delete(id) === true;
  return wasThere && state.own.has(group) ? [{ type: "dismiss", node, group, id, isLost: false }] : [];
}

function admit<C extends Named>(
  { own, told }: Exchange<C>,
  node: string,
  group: string,
  member: C,
): Effects<C> {
  const members = membersOf((told.get(node) as Told<C>).groups, group);
  const isKnown = members.has(member.id);
  members.set(member.id, member);
  if (!own.has(group)) return [];
  const admitted = { type: "admit", node, group, member } as const;
  return isKnown ? [{ type: "dismiss", node, group, id: member.id, isLost: false }, admitted] : [admitted];
}

function tellAll<C>({ told }: Exchange<C>, news: News<C>): Effects<C> {
  return [...told].flatMap(([node, { isUp }]) => (isUp ? [{ type: "tell", node, news }] : []));
}

function membersOf<C>(groups: Groups<C>, group: string): Members<C> {
  const members = groups.get(group) ?? new Map<string, C>();
  groups.set(group, members);
  return members;
}
