import { type TSchema, Type } from "typebox";
import { ROLES } from "../access/principal.ts";
import { nameOfRole } from "../access/role-names.ts";
import { StorageScopesBody } from "./token-scopes.ts";

// Requests and answers of our own API: fastify validates the former by them and writes the latter by them.

/** An object without other members. */
function exactly<const Members extends Record<string, TSchema>>(members: Members) {
  return Type.Object(members, { additionalProperties: false });
}

const name = Type.String({ minLength: 1, maxLength: 64 });
const version = Type.String({ minLength: 1, maxLength: 128 });
const actor = Type.String({ minLength: 1, maxLength: 128 });
const timeMs = Type.Number({ description: "milliseconds since the Unix epoch" });
const texts = Type.Array(Type.String());
const user = Type.String({
  description: "what uses the version; account/project/stack for a stack",
  minLength: 1,
  maxLength: 512,
});

export const ProviderParams = exactly({ name });
export const VersionParams = exactly({ name, version });
export const ActorParams = exactly({ actor });

export const UsesQuery = exactly({ user: Type.Optional(user) });
export const ReleaseUseQuery = exactly({ user });
export const RecordUseBody = exactly({
  user,
  provider_id: Type.Optional(Type.String({ minLength: 36, maxLength: 36 })),
});
export const Uses = exactly({
  uses: Type.Array(
    exactly({
      version: Type.String(),
      versionId: Type.String(),
      user: Type.String(),
      sinceMs: timeMs,
      actor: Type.String({ description: "access key or token that recorded it" }),
    }),
  ),
});

const VersionHealth = exactly({
  healthy: Type.Boolean(),
  checkTimeMs: timeMs,
  latencyMs: Type.Number(),
  failures: Type.Integer(),
  problem: Type.String(),
  schemaDigest: Type.String(),
});
export const Health = exactly({ health: Type.Union([VersionHealth, Type.Null()]) });

export const FunctionCheckBody = exactly({
  function_graph_urn: Type.String({ minLength: 1, maxLength: 256 }),
});
export const FunctionHealth = exactly({
  healthy: Type.Boolean(),
  latencyMs: Type.Number(),
  problem: Type.String(),
});

export const AuditQuery = exactly({
  day: Type.Optional(
    Type.String({
      description: "YYYY-MM-DD, UTC; today by default",
      pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
      maxLength: 10,
    }),
  ),
});
export const AuditEntries = exactly({
  entries: Type.Array(
    exactly({
      id: Type.String(),
      timeMs,
      actor: Type.String(),
      action: Type.String(),
      target: Type.String(),
      outcome: Type.String(),
      requestId: Type.String(),
      clientRequestId: Type.String(),
      remoteAddress: Type.String(),
      details: Type.Record(Type.String(), Type.String()),
    }),
  ),
});

/** A hundred years: no expiry is further away. */
const MAX_DAYS = 36_500;

/** As credentials have them, and as earlier releases called them. */
const ROLE_NAMES = Array.from(new Set([...ROLES.map(nameOfRole), ...ROLES]));

export const NewCredentialBody = exactly({
  roles: Type.Array(Type.Union(ROLE_NAMES.map((name) => Type.Literal(name))), {
    minItems: 1,
    maxItems: ROLES.length,
  }),
  account: Type.Optional(
    Type.String({
      description: "another account; for a site-admin only",
      minLength: 1,
      maxLength: 64,
    }),
  ),
  projects: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: 100 }),
  ),
  description: Type.Optional(Type.String({ maxLength: 256 })),
  expires_in_days: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: MAX_DAYS })),
});
export type NewCredentialBody = Type.Static<typeof NewCredentialBody>;

export const NewTokenBody = exactly({
  ...NewCredentialBody.properties,
  storage_scopes: Type.Optional(StorageScopesBody),
  pool: Type.Optional(
    Type.String({
      description: "the pool whose steps its workers execute; that of the servers by default",
      pattern: "^[a-z0-9][a-z0-9-]{0,62}$",
    }),
  ),
});
export type NewTokenBody = Type.Static<typeof NewTokenBody>;

export const RotationBody = exactly({
  overlap_hours: Type.Optional(
    Type.Number({
      description: "how long the old key stays valid; up to 90 days",
      minimum: 0,
      maximum: 24 * 90,
      default: 24,
    }),
  ),
});

export const Credentials = exactly({
  credentials: Type.Array(
    exactly({
      actor: Type.String(),
      account: Type.String(),
      roles: texts,
      projects: texts,
      pool: Type.Optional(Type.String()),
      description: Type.String(),
      createTimeMs: timeMs,
      expireTimeMs: Type.Optional(timeMs),
      disabled: Type.Boolean(),
      user: Type.Optional(Type.String({ description: "the user whose rights it has" })),
      stacks: Type.Optional(texts),
      lastUseTimeMs: Type.Optional(timeMs),
      rotatedFrom: Type.Optional(Type.String()),
    }),
  ),
});
export const NewAccessKey = exactly({ access_key: Type.String(), secret_key: Type.String() });
export const NewToken = exactly({ token: Type.String(), token_id: Type.String() });
export const EMPTY_BODY = Type.Null({ description: "done" });
