import { type Static, Type } from "typebox";
import { MAX_LISTED, MAX_PLACE, MAX_SHOWN } from "../../domain/compared-plans.ts";
import { MAX_DRIFTED, MAX_DRIFTED_ATTRIBUTES, MAX_DRIFTED_TEXT } from "../../domain/found-drift.ts";
import { MAX_CONSTRAINED } from "../../domain/recorded-constraints.ts";
import { MAX_MODULE_LOCK, MAX_STANDINGS } from "../../domain/registry-query.ts";
import { MAX_LEFT, MAX_LEFT_TEXT } from "../../domain/run-stages.ts";
import type { SchemaAnswer } from "../../domain/upstream-schema.ts";
import type { ExecutionEnd } from "../../executor/executor.ts";
import { MODULE_PART, MODULE_SYSTEM } from "../../modules/module-name.ts";
import { MAX_NAMED_RUNS } from "../../worker/remote-protocol.ts";
import { Digest } from "../api-parts.ts";

// What remote workers and servers say to each other. Both are of releases that are next to each other: `protocol` says which.

const Name = Type.String({ pattern: "^[0-9A-Za-z_.-]{1,128}$" });
const Counter = Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 });
const Revision = Type.String({ pattern: "^[0-9]{1,20}$" });
const Reason = Type.String({ maxLength: 16_384 });
const Runs = Type.Array(Name, { maxItems: MAX_NAMED_RUNS });

export const WorkerEndpoint = Type.Object(
  {
    protocol: Type.Integer(),
    storage_port: Type.Integer(),
    storage_tls: Type.Boolean(),
    worker_prefix: Type.String({
      description: "what the ids of the workers of the token begin with",
    }),
  },
  { title: "WorkerEndpoint" },
);

export const NewClaim = Type.Object(
  {
    protocol: Type.Optional(
      Type.Integer({ description: "version of what workers and servers say to each other" }),
    ),
    worker: Type.String({ pattern: "^[0-9A-Za-z_.-]{1,128}$", description: "id of the worker" }),
    fence: Type.String({ maxLength: 256, description: "version of the fence of its lease" }),
    request: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: "number of the request: each has a higher one than those before it",
      }),
    ),
    running: Type.Optional(Runs),
    ended: Type.Optional(
      Type.Array(Type.Object({ run: Name, ago_ms: Counter }, { additionalProperties: false }), {
        maxItems: MAX_NAMED_RUNS,
        description: "steps that ended there lately",
      }),
    ),
    wait_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 20 })),
    background: Type.Optional(
      Type.Boolean({ description: "whether plans of schedules are wanted; true by default" }),
    ),
  },
  { additionalProperties: false, title: "NewClaim" },
);

/** `sw-`, a run, and the number of its claim. */
const ExecutionName = Type.String({ pattern: "^[0-9A-Za-z_.-]{1,160}$" });

export const Executions = Type.Object(
  { executions: Type.Array(ExecutionName, { maxItems: MAX_NAMED_RUNS }) },
  { additionalProperties: false, title: "Executions" },
);

export const Orphans = Type.Object({ orphans: Type.Array(ExecutionName) }, { title: "Orphans" });

export const Claim = Type.Object(
  {
    protocol: Type.Integer(),
    account: Type.String(),
    project: Type.String(),
    stack: Type.String(),
    run: Type.String(),
    step: Type.Union([Type.Literal("plan"), Type.Literal("apply"), Type.Literal("recover")]),
    attempts: Type.Integer(),
    background: Type.Optional(Type.Boolean()),
    cancel_stage: Type.Integer(),
    token: Type.String(),
    trace_parent: Type.Optional(
      Type.String({ description: "the span that the step continues, as a traceparent header" }),
    ),
  },
  { title: "Claim" },
);

export const ClaimStatus = Type.Object({ cancel_stage: Type.Integer() }, { title: "ClaimStatus" });

/** The job of an executor as it is: worker and server agree on it by the version of their protocol. */
export const Job = Type.Object(
  { protocol: Type.Integer(), job: Type.Record(Type.String(), Type.Unknown()) },
  { title: "ClaimJob" },
);

export const Applying = Type.Object(
  { epoch: Revision },
  { additionalProperties: false, title: "Applying" },
);

const ProviderName = {
  namespace: Type.String({ minLength: 1, maxLength: 256 }),
  type: Type.String({ minLength: 1, maxLength: 256 }),
};

export const RegistryQuery = Type.Union(
  [
    Type.Object(
      {
        kind: Type.Literal("module"),
        namespace: Type.String({ pattern: MODULE_PART }),
        name: Type.String({ pattern: MODULE_PART }),
        system: Type.String({ pattern: MODULE_SYSTEM }),
      },
      { additionalProperties: false },
    ),
    Type.Object(
      {
        kind: Type.Literal("provider"),
        source: Type.String({ maxLength: 256 }),
        version: Type.String({ maxLength: 128 }),
      },
      { additionalProperties: false },
    ),
    Type.Object(
      { kind: Type.Literal("published"), ...ProviderName },
      { additionalProperties: false },
    ),
    Type.Object(
      {
        kind: Type.Literal("package"),
        ...ProviderName,
        version: Type.String({ maxLength: 128 }),
        platform: Type.String({ pattern: "^[a-z0-9]{1,32}_[a-z0-9]{1,32}$" }),
      },
      { additionalProperties: false },
    ),
    Type.Object(
      {
        kind: Type.Literal("standing"),
        providers: Type.Array(
          Type.Object(
            {
              source: Type.String({ pattern: "^[^/]{1,253}/[^/]{1,256}/[^/]{1,256}$" }),
              version: Type.String({ maxLength: 128 }),
            },
            { additionalProperties: false },
          ),
          { maxItems: MAX_STANDINGS },
        ),
      },
      { additionalProperties: false },
    ),
  ],
  { title: "RegistryQuery" },
);

export const RegistryAnswer = Type.Object(
  {
    versions: Type.Array(Type.Object({ version: Type.String(), archiveSha256: Type.String() })),
    withdrawn: Type.Array(Type.Object({ version: Type.String(), reason: Type.String() })),
    provider: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: "the function of a private provider, and how it is called",
      }),
    ),
    published: Type.Optional(
      Type.Array(Type.Object({ version: Type.String(), protocols: Type.Array(Type.String()) }), {
        description: "versions of a published provider, none where the account sees no such one",
      }),
    ),
    package: Type.Optional(
      Type.Object(
        {
          protocols: Type.Array(Type.String()),
          filename: Type.String(),
          archiveSha256: Type.String(),
          size: Type.Integer(),
          checksums: Type.String({ description: "in base64" }),
          signature: Type.String({ description: "detached, in base64" }),
          signingKeys: Type.Array(Type.Object({ keyId: Type.String(), asciiArmor: Type.String() })),
        },
        { description: "a package of a published provider, with what its registry signed" },
      ),
    ),
    standing: Type.Optional(
      Type.Array(
        Type.Object({
          state: Type.Enum(["usable", "unknown", "withdrawn", "quarantined", "hidden"]),
          sinceMs: Type.Integer({ description: "0 where that is not recorded" }),
          reason: Type.String(),
        }),
        { description: "of versions of providers, in the order of the query" },
      ),
    ),
  },
  {
    title: "RegistryAnswer",
    description:
      "versions of a module of the account, none where it has no such module; or a private or published provider",
  },
);

export const OtherStackName = Type.Object(
  {
    stack: Type.Optional(Name),
    project: Type.Optional(Name),
    lineage: Type.Optional(Type.String({ minLength: 1, maxLength: 1_024 })),
    placeDigest: Type.Optional(Type.String({ pattern: "^[0-9a-f]{64}$" })),
  },
  {
    additionalProperties: false,
    title: "OtherStackName",
    description:
      "a stack by its name, or the one that has adopted a state: by the lineage of the state, or the digest of its place",
  },
);

export const OtherStackAnswer = Type.Object(
  {
    found: Type.Optional(
      Type.Object({
        stack: Type.Object({
          account: Type.String(),
          project: Type.String(),
          stack: Type.String(),
        }),
        name: Type.String(),
        head: Revision,
        revision: Revision,
        last: Type.Optional(
          Type.Object(
            {
              revision: Revision,
              status: Type.Optional(
                Type.Union([
                  Type.Literal("applied"),
                  Type.Literal("partially_applied"),
                  Type.Literal("failed"),
                  Type.Literal("canceled"),
                ]),
              ),
              complete: Type.Boolean(),
            },
            { description: "how its last apply ended" },
          ),
        ),
        planned: Type.Optional(
          Type.Object(
            {
              revision: Revision,
              outputs: Type.Array(
                Type.Object(
                  {
                    name: Type.String(),
                    value: Type.String({ description: "msgpack with its type, in base64" }),
                    sensitive: Type.Optional(Type.Array(Type.Unknown())),
                  },
                  { title: "PlannedOutput" },
                ),
              ),
            },
            { description: "what it will publish, of a stack that is planned together with this" },
          ),
        ),
        outputs: Type.Array(
          Type.Object({
            name: Type.String(),
            type: Type.String({ description: "JSON text of the type" }),
            json: Type.String({ description: "JSON text of the value" }),
            sensitive: Type.Boolean(),
          }),
        ),
      }),
    ),
  },
  { title: "OtherStack", description: "nothing where there is no such stack" },
);

export const WrittenState = Type.Object(
  {
    serial: Revision,
    lineage: Type.String({ maxLength: 1_024 }),
    terraformVersion: Type.String({ maxLength: 256 }),
    md5: Type.String({ pattern: "^[0-9a-f]{32}$" }),
    bytes: Revision,
    serialOffset: Revision,
    contentSha256: Digest,
  },
  { additionalProperties: false, title: "WrittenState" },
);

export const OfferedSchema = Type.Object(
  {
    source: Type.String({ maxLength: 256, description: "address of the provider" }),
    version: Type.String({ maxLength: 128 }),
    protocol: Type.Union([Type.Literal(5), Type.Literal(6)]),
    digest: Digest,
    bytes: Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 }),
    blob: Type.Optional(
      Type.Object(
        { sha256: Digest, bytes: Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 }) },
        { additionalProperties: false, description: "where it is stored, compressed" },
      ),
    ),
  },
  {
    additionalProperties: false,
    title: "OfferedSchema",
    description: "a schema of a version of an upstream provider; without a blob a question",
  },
);

const literal = <T extends SchemaAnswer>(value: T) => Type.Literal(value);

export const SchemaTaken = Type.Object(
  {
    answer: Type.Union(
      [literal("wanted"), literal("known"), literal("other"), literal("refused")],
      {
        description:
          "whether the server wants it, has it, has another one of the version, or takes no more",
      },
    ),
  },
  { title: "SchemaTaken" },
);

/** Events that the server itself writes, by which readers see phases and the end of a log. */
export const OWN_EVENTS: ReadonlySet<string> = new Set([
  "phase-change",
  "end",
  "truncated",
  "approval",
  "cancel",
  "identity",
]);

export const IdentityTokens = Type.Object(
  {
    tokens: Type.Array(
      Type.Object({
        tag: Type.String({ description: "what its variables are called by; empty without a tag" }),
        token: Type.String(),
        expires_at: Type.String(),
      }),
    ),
  },
  { title: "IdentityTokens" },
);

export const EventBatch = Type.Object(
  {
    batch: Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 }),
    events: Type.Array(
      Type.Object(
        {
          at: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
          event: Type.Object(
            { type: Type.String({ pattern: "^[a-z-]{1,64}$" }) },
            { additionalProperties: true },
          ),
        },
        { additionalProperties: false },
      ),
      { maxItems: 512 },
    ),
  },
  { additionalProperties: false, title: "EventBatch" },
);

const Summary = Type.Object(
  {
    create: Counter,
    update: Counter,
    replace: Counter,
    delete: Counter,
    import: Counter,
    move: Counter,
    forget: Counter,
  },
  { additionalProperties: false },
);
const BlobDigest = Type.Union([Digest, Type.Literal("")]);
const DriftedText = Type.String({ maxLength: MAX_DRIFTED_TEXT });
const FoundDrift = Type.Object(
  {
    changed: Counter,
    deleted: Counter,
    objects: Type.Array(
      Type.Object(
        {
          address: DriftedText,
          deposed: DriftedText,
          deleted: Type.Boolean(),
          attributes: Type.Array(DriftedText, { maxItems: MAX_DRIFTED_ATTRIBUTES }),
        },
        { additionalProperties: false },
      ),
      { maxItems: MAX_DRIFTED },
    ),
  },
  { additionalProperties: false },
);
const LeftText = Type.String({ maxLength: MAX_LEFT_TEXT });
const Left = Type.Object(
  {
    parts: Type.Array(LeftText, { maxItems: MAX_LEFT }),
    replace: Type.Array(LeftText, { maxItems: MAX_LEFT }),
  },
  { additionalProperties: false },
);
const Constraints = Type.Array(
  Type.Object(
    { source: Type.String({ maxLength: 512 }), versions: Type.String({ maxLength: 16_384 }) },
    { additionalProperties: false },
  ),
  { maxItems: MAX_CONSTRAINED },
);
const Result = Type.Union([
  Type.Object(
    {
      phase: Type.Literal("planned"),
      planDigest: Digest,
      baseRevision: Revision,
      summary: Summary,
      documentSha256: BlobDigest,
      viewSha256: BlobDigest,
      jsonSha256: Type.Optional(BlobDigest),
      renderedSha256: Type.Optional(BlobDigest),
      moduleLock: Type.Optional(Type.String({ maxLength: MAX_MODULE_LOCK })),
      drift: Type.Optional(FoundDrift),
      left: Type.Optional(Left),
    },
    { additionalProperties: false },
  ),
  Type.Object(
    {
      phase: Type.Literal("no_changes"),
      revision: Revision,
      planDigest: Type.Optional(Digest),
      providerConstraints: Type.Optional(Constraints),
    },
    { additionalProperties: false },
  ),
  Type.Object(
    {
      phase: Type.Literal("compared"),
      compared: Counter,
      differing: Counter,
      differences: Type.Array(
        Type.Object(
          {
            address: Type.String({ maxLength: MAX_PLACE }),
            path: Type.String({ maxLength: MAX_PLACE }),
            ours: Type.Optional(Type.String({ maxLength: MAX_SHOWN })),
            theirs: Type.Optional(Type.String({ maxLength: MAX_SHOWN })),
          },
          { additionalProperties: false },
        ),
        { maxItems: MAX_LISTED },
      ),
    },
    { additionalProperties: false },
  ),
  Type.Object(
    {
      phase: Type.Union([
        Type.Literal("applied"),
        Type.Literal("partially_applied"),
        Type.Literal("failed"),
        Type.Literal("canceled"),
        Type.Literal("superseded"),
      ]),
      revision: Type.Optional(Revision),
      reason: Type.Optional(Reason),
      reasonCode: Type.Optional(Type.String({ pattern: "^[0-9A-Za-z_]{0,64}$" })),
      providerConstraints: Type.Optional(Constraints),
    },
    { additionalProperties: false },
  ),
  Type.Object(
    {
      phase: Type.Literal("interrupted"),
      reason: Reason,
      blocked: Type.Optional(
        Type.Boolean({ description: "whether it waits, and does not count as an attempt" }),
      ),
    },
    { additionalProperties: false },
  ),
]);

const End = Type.Union([
  Type.Object({ how: Type.Literal("result"), result: Result }, { additionalProperties: false }),
  Type.Object({ how: Type.Literal("exit"), code: Counter }, { additionalProperties: false }),
  Type.Object(
    { how: Type.Literal("signal"), signal: Type.String({ pattern: "^[A-Z0-9]{1,16}$" }) },
    { additionalProperties: false },
  ),
  Type.Object(
    {
      how: Type.Literal("lost"),
      reason: Type.Union([
        Type.Literal("start_deadline"),
        Type.Literal("memory"),
        Type.Literal("processor"),
        Type.Literal("too_large"),
        Type.Literal("refused"),
        Type.Literal("removed"),
      ]),
      detail: Type.Optional(Reason),
    },
    { additionalProperties: false },
  ),
]);

export const ClaimEnd = Type.Object(
  {
    end: Type.Optional(End),
    late: Type.Optional(Reason),
    given_up: Type.Optional(Reason),
    returned: Type.Optional(
      Type.Boolean({
        description: "whether the worker ends in an orderly way, so that nothing was lost",
      }),
    ),
  },
  { additionalProperties: false, title: "ClaimEnd" },
);

/** How an execution ended, as it was sent. */
export function executionEndOf(end: Static<typeof End>): ExecutionEnd {
  return end;
}
