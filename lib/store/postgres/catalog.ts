// The store's own tables, and the statements on them. Their names begin with `$`, which no table of a schema does.
//
//     $schemas   the version of each schema
//     $claims    who may write under which name
//     $outcomes  a row for each commit whose answer is not known to have arrived
//     $tokens    a sequence: fencing tokens

import type { ClaimNeeds } from "../needs.js";
import { integers, texts } from "./arrays.js";
import type { Command } from "./connection.js";
import { hash } from "./hash.js";
import { quoted } from "./table-sql.js";

/** The version of the tables that are named here, and of how rows are stored. */
export const FORMAT = { schema: "$format", version: 1 } as const;

/** Milliseconds since 1970 by the server's clock, which moves on within a transaction. */
const NOW = "(extract(epoch from clock_timestamp()) * 1000)::float8";
/** When the server started, in the same. */
const STARTED = "(extract(epoch from pg_postmaster_start_time()) * 1000)::float8";

export class Catalog {
  readonly namespace: string;
  /** The key of the namespace's advisory locks. */
  readonly lock: number;
  /** The key of the advisory locks that owners of claims hold, each with its token. */
  readonly ownerLock: number;
  readonly #name: (table: string) => string;

  constructor(namespace: string) {
    this.namespace = namespace;
    this.lock = hash(`signalbox ${namespace}`);
    this.ownerLock = hash(`signalbox ${namespace} owners`);
    this.#name = (table) => `${quoted(namespace)}.${quoted(table)}`;
  }

  /** The definitions of the tables. */
  definitions(): string[] {
    return [
      `create table if not exists ${this.#name("$schemas")} (name text collate "C" primary key, version bigint not null)`,
      // `token` is unique, so that a change of the token waits for all transactions that hold the row FOR KEY SHARE: a new owner waits
      // for the commits of the old one. A renewal changes no key and does not wait.
      `create table if not exists ${this.#name("$claims")} (name text collate "C" primary key, token bigint not null unique,` +
        " owner text not null, since float8 not null, attempt text not null, ttl float8 not null, expires float8 not null," +
        " locked_in float8)",
      `create table if not exists ${this.#name("$outcomes")} (id text collate "C" primary key, at float8 not null)`,
      `create sequence if not exists ${this.#name("$tokens")}`,
    ];
  }

  versions(): Command {
    return { text: `select name, version from ${this.#name("$schemas")}` };
  }

  setVersion(schema: string, version: number): Command {
    return {
      text: `insert into ${this.#name("$schemas")} (name, version) values ($1, $2) on conflict (name) do update set version = excluded.version`,
      values: [schema, version],
    };
  }

  clock(): Command {
    return { text: `select ${NOW}`, prepared: true };
  }

  /**
   * Until the end of the transaction, locks out migrations; other writers of the tables whose rows it counts; and counts of the tables
   * that it writes. Every transaction takes these locks first, and in the same order, so that no two wait for each other. Locks of
   * tables would keep the server from cleaning the tables.
   */
  locks(tables: ReadonlyMap<string, "written" | "counted">): Command {
    const keys = new Map<number, boolean>([[0, false]]);
    for (const [table, how] of tables) {
      const key = hash(table);
      keys.set(key, keys.get(key) === true || how === "counted");
    }
    const sorted = [...keys].sort(([one], [other]) => one - other);
    if (sorted.every(([, alone]) => !alone))
      return {
        text: `select pg_advisory_xact_lock_shared(${this.lock}, key::int) from unnest($1::bigint[]) as key`,
        values: [integers(sorted.map(([key]) => key))],
        prepared: true,
      };
    return {
      text:
        `select case when alone = 1 then pg_advisory_xact_lock(${this.lock}, key::int)::text ` +
        `else pg_advisory_xact_lock_shared(${this.lock}, key::int)::text end ` +
        "from unnest($1::bigint[], $2::bigint[]) as locks(key, alone)",
      values: [integers(sorted.map(([key]) => key)), integers(sorted.map(([, alone]) => Number(alone)))],
      prepared: true,
    };
  }

  /**
   * Leaves a row by which a later connection finds out whether this transaction was committed, and removes those that are not needed
   * any more. Answers with the schemas that have another version by now.
   */
  mark(id: string, spent: readonly string[], versions: ReadonlyMap<string, number>): Command {
    return {
      text:
        `with marked as (insert into ${this.#name("$outcomes")} (id, at) values ($1, ${NOW})), ` +
        `spent as (delete from ${this.#name("$outcomes")} where id = any($2::text[])) ` +
        "select s.name, s.version from unnest($3::text[], $4::bigint[]) as known(name, version) " +
        `join ${this.#name("$schemas")} as s on s.name = known.name where s.version <> known.version`,
      values: [id, texts(spent), texts([...versions.keys()]), integers([...versions.values()])],
      prepared: true,
    };
  }

  /** Removes rows that are not needed any more. */
  spend(ids: readonly string[]): Command {
    return {
      text: `delete from ${this.#name("$outcomes")} where id = any($1::text[])`,
      values: [texts(ids)],
    };
  }

  /**
   * Writes the row of a transaction in its place, unless the row is there. Waits for the transaction if it is still under way. One row
   * changed: the transaction was not committed, and cannot be any more, because its row is taken.
   */
  settle(id: string): Command {
    return {
      text: `insert into ${this.#name("$outcomes")} (id, at) values ($1, ${NOW}) on conflict do nothing`,
      values: [id],
    };
  }

  /** Removes rows of processes that have ended long ago. */
  forget(olderMs: number): Command {
    return { text: `delete from ${this.#name("$outcomes")} where at < ${NOW} - $1`, values: [olderMs] };
  }

  /**
   * Returns those of these claims that are held. They stay held until the end of the transaction; they may be renewed meanwhile.
   *
   * @param orExpired - also those that have expired, if no other owner has taken them and they are not removed
   */
  fence(claims: readonly ClaimNeeds[], orExpired = false): Command {
    return {
      text:
        "select c.name, c.token from unnest($1::text[], $2::bigint[]) as asked(name, token) " +
        `join ${this.#name("$claims")} as c on c.name = asked.name and c.token = asked.token ` +
        `where ${orExpired || this.#isInTime("c")} order by c.name for key share of c`,
      values: [texts(claims.map(({ name }) => name)), integers(claims.map(({ token }) => token))],
      prepared: true,
    };
  }

  /** Claims a name unless another owner holds it. Answers with the token. @param attempt - may claim again what it has claimed */
  claim(name: string, owner: string, ttlMs: number, attempt: string): Command {
    const claims = this.#name("$claims");
    return {
      text:
        `insert into ${claims} as c (name, token, owner, since, attempt, ttl, expires, locked_in) ` +
        `values ($1, nextval('${this.#name("$tokens")}'), $2, ${NOW}, $4, $3::float8, ${NOW} + $3::float8, null) ` +
        "on conflict (name) do update set token = excluded.token, owner = excluded.owner, since = excluded.since, attempt = excluded.attempt, " +
        `ttl = excluded.ttl, expires = ${NOW} + excluded.ttl, locked_in = null ` +
        `where c.attempt = excluded.attempt or not ${this.#isHeld("c")} returning c.token`,
      values: [name, owner, ttlMs, attempt],
    };
  }

  /**
   * Removes claims that have expired this long ago: their owners can neither write nor renew. One whose row is in use, by a commit or by
   * a new owner, stays for the next time. Others who ask about a removed claim find none, which says the same.
   */
  removeExpired(ms: number): Command {
    const claims = this.#name("$claims");
    return {
      text:
        `delete from ${claims} where token in (select c.token from ${claims} as c ` +
        `where not ${this.#isInTime("c", ms)} order by c.name for update skip locked)`,
    };
  }

  /** Renews claims that are not expired. Answers with them. */
  renew(claims: readonly (ClaimNeeds & { readonly ttlMs: number })[]): Command {
    return {
      text:
        `update ${this.#name("$claims")} as c set expires = greatest(c.expires, ${NOW} + asked.ttl) ` +
        "from unnest($1::text[], $2::bigint[], $3::float8[]) as asked(name, token, ttl) " +
        `where c.name = asked.name and c.token = asked.token and ${this.#isInTime("c")} returning c.name, c.token`,
      values: [
        texts(claims.map(({ name }) => name)),
        integers(claims.map(({ token }) => token)),
        `{${claims.map(({ ttlMs }) => ttlMs).join()}}`,
      ],
    };
  }

  /** Takes the locks of owners in this session. Answers with the tokens whose lock is held now. */
  lockOwners(tokens: readonly number[]): Command {
    return {
      text: `select token from unnest($1::bigint[]) as token where pg_try_advisory_lock(${this.ownerLock}, ${ownerKey("token")})`,
      values: [integers(tokens)],
    };
  }

  unlockOwner(token: number): Command {
    return {
      text: `select pg_advisory_unlock(${this.ownerLock}, ${ownerKey("$1::bigint")})`,
      values: [token],
    };
  }

  /** Notes that owners hold their locks: others see at once when the session ends. */
  noteLocks(tokens: readonly number[]): Command {
    return {
      text: `update ${this.#name("$claims")} set locked_in = ${STARTED} where token = any($1::bigint[])`,
      values: [integers(tokens)],
    };
  }

  /** Removes a claim, if it has this token. */
  remove({ name, token }: ClaimNeeds): Command {
    return {
      text: `delete from ${this.#name("$claims")} where name = $1 and token = $2`,
      values: [name, token],
    };
  }

  claims(prefix: string): Command {
    return {
      text: `select c.name, c.token, c.owner, c.since, ${this.#isHeld("c")} from ${this.#name("$claims")} as c where starts_with(c.name, $1) order by c.name`,
      values: [prefix],
    };
  }

  /** Not expired. Owners could not renew while the server was down, so after its start each claim holds for its whole time again. */
  #isInTime(c: string, lateMs = 0): string {
    return `greatest(${c}.expires, ${STARTED} + ${c}.ttl) > ${NOW} - ${lateMs}`;
  }

  /**
   * In time, and the owner's session is there, if it has locked its token. A server that has started since has no such session: then
   * the owner gets the time of its claim to come back.
   */
  #isHeld(c: string): string {
    const isLocked =
      "exists (select from pg_locks as l where l.locktype = 'advisory' and l.objsubid = 2 and l.granted" +
      " and l.database = (select d.oid from pg_database as d where d.datname = current_database())" +
      ` and l.classid = ${this.ownerLock}::oid and l.objid = ${ownerKey(`${c}.token`)}::oid)`;
    return `(${this.#isInTime(c)} and (${c}.locked_in is null or ${c}.locked_in <> ${STARTED} or ${isLocked}))`;
  }
}

/** A token as the second key of an advisory lock: a number of 31 bits. */
const ownerKey = (token: string): string => `(${token} & 2147483647)::int`;
