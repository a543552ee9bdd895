// Finds circles of calls: processes of which each waits for the reply of the next, so that none can ever answer.
//
// A process waits for a reply when the end of its handler depends on the promise of the call. Only V8 knows which promise an async
// function waits for: it follows that chain for its async stack traces. So when the calls form a circle, and only then, a piece of
// code is put between the reply and the code that awaits it. It looks at the stack above itself: each frame is an async function that
// cannot go on before. If the frame that follows the handler is among them, the process waits. In all other cases nothing is
// reported, and the call ends by its timeout.

import { CallCycleError } from "./errors.js";
import { members } from "./one-or-many.js";
import { origin, outside } from "./origin.js";
import type { Process } from "./process.js";
import { STARTING, type State, SUSPENDED } from "./process-state.js";
import { Request } from "./request.js";
import type { SharedState } from "./shared-state.js";

/** The most calls of a circle that is looked for. */
const LONGEST = 100;
/** The most frames of a stack that are looked at. */
const FRAMES = 200;
/** How often one call is looked at. Each look adds a promise to its chain, and a call may stay open for long. */
const LOOKS = 8;

/** In these states code of a process awaits something, so the process may be on a circle. */
export function isBusy(state: State): boolean {
  return state === SUSPENDED || state === STARTING;
}

/** A call has been made to a process that is busy. Ends the call if it closes a circle. */
export function lookForCycle(closing: Request, target: Process): void {
  const waiter = closing.promise === undefined ? undefined : waiterOf(closing);
  if (waiter === undefined || waiter === target || target.rare === undefined) return;
  if (mayWaitFor(target, waiter, new Set())) outside(() => void judge(closing, waiter, target));
}

/** A step that calls depends on whom the other process waits for, and others may depend on whom this one waits for. */
export function declareWaits(shared: SharedState, request: Request, target: Process): void {
  const waiter = waiterOf(request);
  if (request.promise === undefined || waiter === undefined) return;
  shared.waits(waiter.pid, "write");
  shared.waits(target.pid, "read");
}

/** Whether calls lead from one process to the other, through processes whose code awaits something. */
function mayWaitFor(from: Process, to: Process, seen: Set<Process>): boolean {
  if (seen.size === LONGEST) return false;
  seen.add(from);
  from.kernel.shared?.process(from.pid, "write");
  from.kernel.shared?.waits(from.pid, "read");
  return openCalls(from).some(({ callee }) => {
    if (callee === undefined || seen.has(callee)) return false;
    return callee === to || (isBusy(callee.state) && mayWaitFor(callee, to, seen));
  });
}

/** The calls whose replies the code of a process has, or might have, to wait for. */
function openCalls({ rare }: Process): Request[] {
  if (rare === undefined) return [];
  const own = members(rare.waits).filter((wait) => wait instanceof Request);
  return [...own, ...members(rare.calling)].filter(({ promise, open }) => promise !== undefined && open);
}

async function judge(closing: Request, waiter: Process, target: Process): Promise<void> {
  // The code that made the last call has to come to its await.
  await undefined;
  const cycle: Request[] = [];
  // The code of a process hangs on one call at most, so there is one way.
  for (let at = target; at !== waiter; ) {
    const next = await hangingCall(openCalls(at));
    if (next?.callee === undefined || cycle.push(next) === LONGEST) return;
    at = next.callee;
  }
  if ((await hangingCall([closing])) === undefined) return;
  cycle.push(closing);
  if (!cycle.every(isStuck)) return;
  const calls = cycle.map((request) => {
    const { method } = request as { readonly method?: unknown };
    return {
      from: (waiterOf(request) as Process).pid,
      to: (request.callee as Process).pid,
      method: typeof method === "string" ? method : undefined,
    };
  });
  waiter.kernel.interception?.circle(calls.map(({ from }) => from));
  closing.fail(new CallCycleError(calls), "undelivered");
}

function waiterOf({ owner, waiter }: Request): Process | undefined {
  return owner ?? waiter;
}

/** Whether only the callee can end the call, and its caller handles no message before that, if it awaits the reply. */
function isStuck(request: Request): boolean {
  const waiter = waiterOf(request);
  if (waiter === undefined || !request.open || !isBusy(waiter.state)) return false;
  if (waiter.pendingReceive !== undefined || waiter.rare?.receivesMeanwhile === true) return false;
  return isHeld(request);
}

/** A call that its callee may have passed on, so that others may answer it. */
interface PassedOn {
  readonly isPassedOn?: boolean;
}

/** Whether the call is in the mailbox of its callee, or is what the callee works on: then no other process has it. */
function isHeld(request: Request): boolean {
  const { callee, message } = request;
  if (callee === undefined || (request as PassedOn).isPassedOn === true) return false;
  if (request.queuedIn === callee) return true;
  const current = callee.rare?.message;
  return current === request || (current !== undefined && current === message);
}

/** Of these calls of one process, the one that its code hangs on. */
async function hangingCall(calls: readonly Request[]): Promise<Request | undefined> {
  for (const call of calls) if (isStuck(call) && (await hangs(call))) return call;
  return undefined;
}

/** Whether the code of the caller can do nothing before this call has ended. */
async function hangs(request: Request): Promise<boolean> {
  const { promise } = request;
  const waiter = waiterOf(request);
  const settling = waiter?.settling;
  if (promise === undefined || settling === undefined) return false;
  if (origin.ownerOf(promise) !== waiter?.pid || !origin.isLast(promise)) return false;
  const looks = looked.get(request) ?? 0;
  if (looks === LOOKS) return false;
  looked.set(request, looks + 1);
  const name = followerOf(settling);
  const frames = await new Promise<readonly Frame[]>((done) => {
    request.divert(async (reply) => {
      // The promise of the reply follows this one from the next microtask on.
      for (let i = 0; i < 3; i++) await undefined;
      done(framesAbove());
      return await reply;
    });
  });
  return frames.some((frame) => frame.name === name) && frames.every(({ isPlain }) => isPlain);
}

const looked = new WeakMap<Request, number>();

/** The names of the frames that follow handlers. */
const followers = new WeakMap<Promise<unknown>, string>();
let lastFollower = 0;

/** Waits for the end of a handler, by a function whose name tells it from all others. */
function followerOf(settling: Promise<unknown>): string {
  const known = followers.get(settling);
  if (known !== undefined) return known;
  const name = `signalbox handler ${++lastFollower}`;
  followers.set(settling, name);
  const follow = {
    async [name](): Promise<void> {
      await settling;
    },
  };
  void follow[name]?.();
  return name;
}

interface Frame {
  readonly name: string | null;
  /** Not a frame of Promise.all or the like, which may end before the call. */
  readonly isPlain: boolean;
}

/** The async functions that wait for the one that calls this, directly or through each other. None where V8 does not tell. */
function framesAbove(): readonly Frame[] {
  if (Object.isFrozen(Error)) return [];
  const { stackTraceLimit, prepareStackTrace } = Error;
  try {
    Error.stackTraceLimit = FRAMES;
    Error.prepareStackTrace = (_error, sites) => sites;
    const sites: unknown = new Error().stack;
    return Array.isArray(sites) ? (sites as NodeJS.CallSite[]).map(frameOf) : [];
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    Error.prepareStackTrace = prepareStackTrace as typeof Error.prepareStackTrace;
  }
}

function frameOf(site: NodeJS.CallSite): Frame {
  return { name: site.getFunctionName(), isPlain: site.getPromiseIndex() === null };
}
