import type { ResourceProvider } from "@stackwright/mux";
import { Type } from "typebox";
import { Value } from "typebox/value";

/** Most programs of one provider: each is a process. */
const MAX_PROGRAMS = 32;

const text = (description: string) => Type.String({ description, minLength: 1, maxLength: 1024 });
/** Deadlines in seconds, at most a week. */
const seconds = Type.Number({ exclusiveMinimum: 0, maximum: 604_800 });

/** The methods of the protocol that a deadline may be given to. */
const METHODS = [
  "handshake",
  "parameterize",
  "getSchema",
  "checkConfig",
  "diffConfig",
  "configure",
  "invoke",
  "call",
  "check",
  "diff",
  "create",
  "read",
  "update",
  "delete",
  "construct",
  "list",
  "getPluginInfo",
  "getMapping",
  "getMappings",
] as const satisfies readonly (keyof ResourceProvider)[];

const closed = { additionalProperties: false } as const;

/** What Pulumi plug-ins are parameterized with: words, as on a command line, or what an SDK recorded. */
const words = Type.Array(Type.String({ maxLength: 4096 }), { minItems: 1, maxItems: 64 });
const packageValue = Type.Object(
  {
    name: text("the name of the package"),
    version: text("the version of the package"),
    value: Type.String({
      pattern: "^[A-Za-z0-9+/]*={0,2}$",
      maxLength: 1_048_576,
      description: "the recorded parameter, in base64",
    }),
  },
  closed,
);

const JoinedFileSchema = Type.Object(
  {
    plugins: Type.Optional(
      Type.Record(
        Type.String(),
        Type.Object(
          {
            server: text("URL or folder"),
            versions: Type.Optional(text("URL of a list of versions")),
            checksums: Type.Optional(
              Type.Record(Type.String(), text("SHA-256 of the archive, in hexadecimal")),
            ),
          },
          closed,
        ),
      ),
    ),
    providers: Type.Optional(
      Type.Record(
        Type.String(),
        Type.Object(
          {
            programs: Type.Array(
              Type.Object(
                {
                  source: text("its source address"),
                  version: Type.Optional(text("a version constraint")),
                  name: Type.Optional(text("its name in messages")),
                  parameters: Type.Optional(Type.Union([words, packageValue])),
                  deadlines: Type.Optional(
                    Type.Object(
                      Object.fromEntries(METHODS.map((method) => [method, Type.Optional(seconds)])),
                      closed,
                    ),
                  ),
                },
                closed,
              ),
              { minItems: 1, maxItems: MAX_PROGRAMS },
            ),
            conflicts: Type.Optional(
              Type.Union([Type.Literal("error"), Type.Literal("first"), Type.Literal("last")]),
            ),
            owners: Type.Optional(Type.Record(Type.String(), text("the name of a program"))),
            package: Type.Optional(
              Type.Object(
                {
                  name: Type.Optional(
                    Type.String({ pattern: "^[a-z][a-z0-9-]{0,99}$", description: "its name" }),
                  ),
                  version: Type.Optional(
                    Type.String({ pattern: "^\\d+\\.\\d+\\.\\d+", maxLength: 100 }),
                  ),
                  degradedStart: Type.Optional(Type.Boolean()),
                },
                closed,
              ),
            ),
          },
          closed,
        ),
      ),
    ),
  },
  closed,
);

/** The value where it has the form of the file of joined providers; else what is wrong with it, and where. */
export function checkJoinedFile(value: unknown): Type.Static<typeof JoinedFileSchema> | string {
  if (Value.Check(JoinedFileSchema, value)) return value;
  const [first] = Value.Errors(JoinedFileSchema, value);
  const at = first?.instancePath.slice(1).replaceAll("~1", "/") || "it";
  const why =
    first?.keyword === "boolean" ? "is not a known member" : (first?.message ?? "is wrong");
  return `${at} ${why}`;
}
