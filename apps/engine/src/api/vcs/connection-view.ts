import type { VcsConnection } from "@stackwright/proto/stackwright";
import { type Static, Type } from "typebox";
import { kindOf, policyOf } from "../../vcs/connection-kind.ts";
import { StackNameSchema } from "../api-parts.ts";
import { timeOf } from "../runs/run-view.ts";

export const ConnectionName = Type.String({
  pattern: "^[a-z0-9][a-z0-9-]{0,62}$",
  description: "unique in the project; part of the address of the webhook",
});

const Address = Type.String({ minLength: 1, maxLength: 1024 });
const Kind = Type.Union([Type.Literal("generic"), Type.Literal("gitea"), Type.Literal("github")], {
  title: "VcsKind",
});
const Apply = Type.Union(
  [Type.Literal("manual"), Type.Literal("on_merge"), Type.Literal("on_comment")],
  {
    title: "VcsApply",
    description:
      "when plans of merged commits are applied: approved on the server, or as the pull request showed them, with its merge or a comment",
  },
);
const Secret = Type.String({ minLength: 16, maxLength: 256, pattern: "^[!-~]+$" });
const Token = Type.String({
  maxLength: 1024,
  pattern: "^[!-~]*$",
  description: "shown never; empty: none",
});

const ConnectedStack = Type.Object(
  {
    stack: StackNameSchema,
    directory: Type.Optional(
      Type.String({ maxLength: 512, description: "folder of the root module in the repository" }),
    ),
    paths: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
        maxItems: 50,
        description: "patterns of the files that concern the stack; all of its folder by default",
      }),
    ),
  },
  { additionalProperties: false, title: "ConnectedStack" },
);

const SETTINGS = {
  repository_url: Type.Optional(Address),
  api_url: Type.Optional(Address),
  repository: Type.Optional(
    Type.String({
      pattern: "^[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}$",
      description: "OWNER/NAME",
    }),
  ),
  branch: Type.Optional(
    Type.String({
      pattern: "^[A-Za-z0-9][A-Za-z0-9._/+@-]{0,254}$",
      description: "main by default",
    }),
  ),
  token: Type.Optional(Token),
  report_url: Type.Optional(Type.String({ maxLength: 1024 })),
  apply: Type.Optional(Apply),
  stacks: Type.Optional(Type.Array(ConnectedStack, { maxItems: 200 })),
  appliers: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 128 }), {
      maxItems: 200,
      description:
        "users of the Git server whose comments, or with on_merge whose merges, apply; all that may write by default; not for generic",
    }),
  ),
  required_reviews: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 20,
      description:
        "approving reviews that the newest commit needs, by users who may write and are not the author, before a comment or the merge applies it; 1 by default, and 0 for generic, which has none",
    }),
  ),
};

/** Body of a request that creates a connection. */
export const NewConnection = Type.Object(
  {
    ...SETTINGS,
    name: ConnectionName,
    kind: Kind,
    repository_url: Address,
    webhook_secret: Type.Optional(Secret),
  },
  { additionalProperties: false, title: "NewVcsConnection" },
);

/** Body of a request that changes a connection: what it names. */
export const ConnectionChange = Type.Object(
  { ...SETTINGS, webhook_secret: Type.Optional(Secret) },
  { additionalProperties: false, title: "VcsConnectionChange" },
);

export const ConnectionView = Type.Object(
  {
    name: Type.String(),
    kind: Kind,
    repository_url: Type.String(),
    api_url: Type.String(),
    repository: Type.String(),
    branch: Type.String(),
    report_url: Type.String(),
    has_token: Type.Boolean(),
    apply: Apply,
    stacks: Type.Array(
      Type.Object({
        stack: Type.String(),
        directory: Type.String(),
        paths: Type.Array(Type.String()),
      }),
    ),
    appliers: Type.Array(Type.String()),
    required_reviews: Type.Integer(),
    webhook_path: Type.String({ description: "where deliveries are sent, at this server" }),
    webhook_secret: Type.Optional(
      Type.String({ description: "only in the answer to the request that creates it" }),
    ),
    actor: Type.String(),
    created_at: Type.String(),
    updated_at: Type.String(),
  },
  { title: "VcsConnection" },
);

/** A connection as the API shows it: without its secrets. */
export function connectionViewOf(
  connection: VcsConnection,
  { account, project }: { readonly account: string; readonly project: string },
): Static<typeof ConnectionView> {
  const { name, stacks } = connection;
  return {
    name,
    kind: kindOf(connection.kind),
    repository_url: connection.repositoryUrl,
    api_url: connection.apiUrl,
    repository: connection.repository,
    branch: connection.branch,
    report_url: connection.reportUrl,
    has_token: connection.token.byteLength > 0,
    apply: policyOf(connection.apply),
    stacks: stacks.map(({ stack, directory, paths }) => ({ stack, directory, paths })),
    appliers: connection.appliers,
    // Connections of before have the number that all had at first.
    required_reviews: kindOf(connection.kind) === "generic" ? 0 : connection.requiredReviews,
    webhook_path: `/hooks/vcs/${account}/${project}/${name}`,
    actor: connection.actor,
    created_at: timeOf(connection.createdAtMs),
    updated_at: timeOf(connection.updatedAtMs),
  };
}
