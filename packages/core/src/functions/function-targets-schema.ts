import { Type } from "typebox";
import { Value } from "typebox/value";

const name = (description: string) => Type.String({ description, minLength: 1, maxLength: 1024 });

/** Where the secrets are with which a function or a registry is called: in variables, or in a file. */
export const CredentialsSchema = Type.Union([
  Type.Object(
    {
      accessKeyVariable: name("variable with the access key"),
      secretKeyVariable: name("variable with its secret"),
      securityTokenVariable: Type.Optional(name("variable with the token of a temporary key")),
    },
    { additionalProperties: false },
  ),
  Type.Object(
    { bearerTokenVariable: name("variable with a bearer token") },
    { additionalProperties: false },
  ),
  Type.Object(
    { file: name("JSON with accessKey and secretKey, or with bearerToken") },
    { additionalProperties: false },
  ),
]);

const text = (description: string) => Type.String({ description, minLength: 1, maxLength: 4096 });
const closed = { additionalProperties: false } as const;

/** What an operator's table of functions says, as JSON. It holds no secrets; it names where they are. */
export const FunctionTargetsSchema = Type.Object(
  {
    account: Type.Optional(text("the account whose providers are meant; without it, any")),
    region: Type.Optional(text("the region whose providers are meant")),
    projects: Type.Array(text("a project"), {
      description: "projects whose functions may be called",
    }),
    functions: Type.Optional(
      Type.Record(
        Type.String(),
        Type.Object(
          { url: text("origin of the function"), credentials: Type.Optional(CredentialsSchema) },
          closed,
        ),
        { description: "self-hosted functions by their whole URN" },
      ),
    ),
    regions: Type.Optional(
      Type.Record(
        Type.String(),
        Type.Object(
          {
            endpoint: text("origin of the invoke API"),
            functionKind: Type.Optional(Type.Union([Type.Literal("http"), Type.Literal("event")])),
            credentials: Type.Optional(CredentialsSchema),
          },
          closed,
        ),
        { description: "function platforms by region" },
      ),
    ),
    networks: Type.Optional(
      Type.Array(text("a network"), {
        description: "private networks that functions may be in, such as 127.0.0.0/8",
      }),
    ),
  },
  closed,
);

/** The value where it has the form of a table; else what is wrong with it, and where. */
export function checkFunctionTargets(
  value: unknown,
): Type.Static<typeof FunctionTargetsSchema> | string {
  if (Value.Check(FunctionTargetsSchema, value)) return value;
  const [first] = Value.Errors(FunctionTargetsSchema, value);
  const at = first?.instancePath.slice(1).replaceAll("/", ".") || "it";
  const why =
    first?.keyword === "boolean" ? "is not a known member" : (first?.message ?? "is wrong");
  return `${at} ${why}`;
}
