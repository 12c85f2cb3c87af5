import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import { hasRole } from "../access/principal.ts";
import { RegistryError } from "../errors.ts";
import { requestContext } from "../http/request-audit.ts";
import { describeRoute } from "../http/route-description.ts";
import { type PrincipalOf, STACKWRIGHT_API_ERRORS } from "../http/stackwright-api.ts";
import type { Registry } from "../registry.ts";
import { claimNamespace, listNamespaces, type Namespace, transferNamespace } from "./namespaces.ts";
import { releaseNamespace } from "./release-namespace.ts";

const closed = { additionalProperties: false } as const;
const account = Type.String({ minLength: 1, maxLength: 64 });
const NamespaceParams = Type.Object(
  { namespace: Type.String({ minLength: 1, maxLength: 64 }) },
  closed,
);
const ClaimBody = Type.Object(
  {
    public: Type.Optional(
      Type.Boolean({ description: "as it is by default; false for a new one" }),
    ),
    account: Type.Optional(
      Type.String({ description: "another account; operators only", minLength: 1, maxLength: 64 }),
    ),
  },
  closed,
);
const TransferBody = Type.Object({ account }, closed);
const NamespaceView = Type.Object({
  name: Type.String(),
  account: Type.String(),
  public: Type.Boolean(),
  offered_to: Type.Union([Type.String(), Type.Null()]),
});

type NamespaceParams = Type.Static<typeof NamespaceParams>;

/** Who may publish in which namespace. */
export function namespaceRoutes(
  fastify: FastifyInstance,
  registry: Registry,
  principalOf: PrincipalOf,
): void {
  const config = { role: "admin" } as const;
  const tags = ["publishing"];
  const one = { 200: NamespaceView, ...STACKWRIGHT_API_ERRORS };

  fastify.get(
    "/namespaces",
    {
      config,
      schema: describeRoute({
        tags,
        summary: "Namespaces of the account and those offered to it; all for operators",
        response: {
          200: Type.Object({ namespaces: Type.Array(NamespaceView) }),
          ...STACKWRIGHT_API_ERRORS,
        },
      }),
    },
    async (request) => {
      const principal = principalOf(request);
      const all = hasRole(principal, "operator");
      const own = ({ account: owner, offeredTo }: Namespace): boolean =>
        all || owner === principal.account || offeredTo === principal.account;
      return { namespaces: (await listNamespaces(registry)).filter(own).map(viewOf) };
    },
  );

  fastify.put<{ Params: NamespaceParams; Body: Type.Static<typeof ClaimBody> }>(
    "/namespaces/:namespace",
    {
      config: { ...config, bodyOptional: true },
      schema: describeRoute({
        tags,
        summary: "Claim a namespace, accept an offered one, or set whether it is public",
        description: "Well-known names are granted by operators.",
        params: NamespaceParams,
        body: ClaimBody,
        response: one,
      }),
    },
    async (request) => {
      const principal = principalOf(request);
      const { account: owner = principal.account, public: isPublic } = request.body;
      const granted = hasRole(principal, "operator");
      if (owner !== principal.account && !granted) {
        throw new RegistryError("REGISTRY_FORBIDDEN", "only operators act for other accounts", {
          details: { needed: ["operator"] },
        });
      }
      const claim = { name: request.params.namespace, account: owner, public: isPublic, granted };
      return viewOf(await claimNamespace(registry, claim, requestContext(request, principal)));
    },
  );

  fastify.post<{ Params: NamespaceParams; Body: Type.Static<typeof TransferBody> }>(
    "/namespaces/:namespace/transfer",
    {
      config,
      schema: describeRoute({
        tags,
        summary: "Offer a namespace to another account, which accepts by claiming it",
        description: "The own account withdraws the offer. An operator transfers at once.",
        params: NamespaceParams,
        body: TransferBody,
        response: one,
      }),
    },
    async (request) => {
      const principal = principalOf(request);
      const owner = hasRole(principal, "operator") ? undefined : principal.account;
      const transfer = { name: request.params.namespace, to: request.body.account, owner };
      const context = requestContext(request, principal);
      return viewOf(await transferNamespace(registry, transfer, context));
    },
  );

  fastify.delete<{ Params: NamespaceParams }>(
    "/namespaces/:namespace",
    {
      config,
      schema: describeRoute({
        tags,
        summary: "Release a namespace without releases",
        params: NamespaceParams,
        response: { 204: Type.Null({ description: "done" }), ...STACKWRIGHT_API_ERRORS },
      }),
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const owner = hasRole(principal, "operator") ? undefined : principal.account;
      const context = requestContext(request, principal);
      await releaseNamespace(registry, { name: request.params.namespace, owner }, context);
      return reply.code(204).send();
    },
  );
}

function viewOf({ name, account: owner, public: isPublic, offeredTo }: Namespace) {
  return { name, account: owner, public: isPublic, offered_to: offeredTo ?? null };
}
