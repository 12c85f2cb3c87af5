import { Type } from "typebox";
import { expect, it } from "vitest";
import { compileRequestValidator } from "./validate-request.ts";

const SCHEMA = Type.Object(
  {
    reaction: Type.Optional(
      Type.Union([Type.Literal("none"), Type.Literal("notify"), Type.Literal("plan")]),
    ),
    role: Type.Optional(Type.Enum(["viewer", "admin"])),
    name: Type.Optional(Type.String({ maxLength: 3 })),
  },
  { additionalProperties: false },
);

/** What a body is refused for. */
function refusalOf(body: unknown) {
  const validate = compileRequestValidator({
    schema: SCHEMA,
    method: "POST",
    url: "/",
    httpPart: "body",
  });
  const found = validate(body) as { readonly error?: Error & { readonly errors: unknown } };
  return { message: found.error?.message, errors: found.error?.errors };
}

it("the refusal of a member that is not known names it, and says so once", () => {
  expect(refusalOf({ nmae: "x" })).toEqual({
    message: "the request is not valid: /body must not have additional properties: nmae",
    errors: [{ pointer: "/body", detail: "must not have additional properties: nmae" }],
  });
});

it.each([
  ["reaction", 'must be "none" or "notify" or "plan"'],
  ["role", 'must be "viewer" or "admin"'],
])("the refusal of a value names those that there are: %s", (member, detail) => {
  expect(refusalOf({ [member]: "apply" }).errors).toEqual([{ pointer: `/body/${member}`, detail }]);
});

it("every member that is wrong is named", () => {
  const { errors } = refusalOf({ name: "long", role: "x" });
  expect(errors).toMatchObject([{ pointer: "/body/role" }, { pointer: "/body/name" }]);
});
