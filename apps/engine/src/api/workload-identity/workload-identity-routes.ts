import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { decodeRecord } from "../../domain/record-kind.ts";
import { requestedIdentities } from "../../domain/requested-identity.ts";
import { memberPlace, RUN_KIND } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { type IdentityIssuer, subjectOf } from "../../identity/identity-issuer.ts";
import { categoryOf, readEffectiveVariables } from "../../worker/run-variables.ts";
import { type ApiParts, routeSchema, StackParams, stackOf } from "../api-parts.ts";
import { timeOf } from "../runs/run-view.ts";

const Phase = Type.Union([Type.Literal("plan"), Type.Literal("apply")], { title: "IdentityPhase" });

const IssuerView = Type.Object(
  {
    issuer: Type.String({ description: "what clouds have to trust" }),
    keys_url: Type.String({ description: "where the public keys are, as JWKS" }),
    algorithm: Type.String(),
    token_seconds: Type.Integer({ description: "how long a token is valid" }),
    keys: Type.Array(
      Type.Object(
        {
          id: Type.String(),
          state: Type.Union([
            Type.Literal("former"),
            Type.Literal("current"),
            Type.Literal("next"),
          ]),
          signs_from: Type.String(),
          signs_until: Type.String(),
        },
        { title: "IdentityKey" },
      ),
    ),
  },
  { title: "IdentityIssuer" },
);

const StackIdentityView = Type.Object(
  {
    subjects: Type.Object(
      { plan: Type.String(), apply: Type.String() },
      { description: "what a rule of a cloud compares" },
    ),
    requested: Type.Array(
      Type.Object({
        tag: Type.String({ description: "the end of the names of its variables; may be empty" }),
        audience: Type.Optional(
          Type.String({ description: "absent where it is made of a sensitive variable" }),
        ),
      }),
      { description: "the tokens that runs get, by the variables of the stack" },
    ),
    issued: Type.Array(
      Type.Object(
        {
          run: Type.String(),
          number: Type.Integer(),
          phase: Phase,
          audiences: Type.Array(Type.String()),
          at: Type.String(),
        },
        { title: "IssuedIdentity" },
      ),
      { description: "the newest first; of each run the last ones" },
    ),
  },
  { title: "StackIdentity" },
);

/** Issues that are listed. */
const MAX_ISSUED = 100;
/** In place of a sensitive value, which nothing shows. */
const SENSITIVE = "(sensitive)";

/** How runs prove to clouds who they are: the issuer, and of a stack what its runs get and got. */
export function workloadIdentityRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, principalOf } = parts;
  const issuerOf = (): IdentityIssuer => {
    const { identity } = parts.workers;
    if (identity !== undefined) return identity;
    throw new ServerError("not_found", "this server issues no identities to runs");
  };

  fastify.get(
    "/identity",
    {
      schema: routeSchema(
        "Show the issuer of the identities of runs, and its keys",
        "ShowIdentityIssuer",
        { 200: IssuerView },
      ),
      config: { access: "viewer", limitsStacks: true },
    },
    async () => {
      const issuer = issuerOf();
      const { issuer: address, keys } = issuer.address;
      const described = await issuer.describedKeys();
      return {
        issuer: address,
        keys_url: keys,
        algorithm: issuer.algorithm,
        token_seconds: issuer.lifeSeconds,
        keys: described.map(({ id, state, signsFromMs, signsUntilMs }) => ({
          id,
          state,
          signs_from: timeOf(BigInt(signsFromMs)),
          signs_until: timeOf(BigInt(signsUntilMs)),
        })),
      };
    },
  );

  fastify.get<{ Params: Static<typeof StackParams> }>(
    "/projects/:project/stacks/:stack/identity",
    {
      schema: routeSchema(
        "Show which identities runs of a stack get, and which were issued to them",
        "ShowStackIdentity",
        { 200: StackIdentityView },
        { params: StackParams },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const { reference, name } = await stackOf(parts, principalOf(request), request.params);
      const { account, project } = reference;
      const variables = await readEffectiveVariables(storage, reference, name);
      const environment = Object.fromEntries(
        variables.flatMap(({ variable: { key, value, sensitive, ...rest } }) =>
          categoryOf(rest) === "env"
            ? [[key, sensitive ? SENSITIVE : Buffer.from(value).toString("utf8")]]
            : [],
        ),
      );
      const requested = requestedIdentities(environment);
      const place = memberPlace(reference, "");
      const runs = (await storage.list("strong", RUN_KIND.type, place.tenancy, place.name)).map(
        (one) => decodeRecord(RUN_KIND, one),
      );
      const issued = runs.flatMap(({ id, number, identities }) =>
        identities.map(({ atMs, phase, audiences }) => ({
          atMs,
          run: id,
          number: Number(number),
          phase: phase === "plan" ? ("plan" as const) : ("apply" as const),
          audiences: [...audiences],
        })),
      );
      const subject = (phase: "plan" | "apply"): string =>
        subjectOf({ account, project, stack: name, phase });
      return {
        subjects: { plan: subject("plan"), apply: subject("apply") },
        requested: requested.map(({ tag, audience }) => ({
          tag,
          ...(!audience.includes(SENSITIVE) && { audience }),
        })),
        issued: issued
          .toSorted((left, right) => Number(right.atMs - left.atMs))
          .slice(0, MAX_ISSUED)
          .map(({ atMs, ...one }) => ({ ...one, at: timeOf(atMs) })),
      };
    },
  );
}
