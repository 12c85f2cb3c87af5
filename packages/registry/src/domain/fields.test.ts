import { describe, expect, it } from "vitest";
import { checkProviderVersion } from "./fields.ts";
import { requireFunctionUrn } from "./function-urn.ts";

describe("what is refused", () => {
  it.each(["2", "version", "1.0", "v1.0.0"])("says how a version looks: %s", (text) => {
    expect(() => checkProviderVersion(text)).toThrow(
      /^provider_version must .*a semantic version, such as 1\.0\.0$/,
    );
  });

  it.each([
    ["zones2", /^function_graph_urn must have at least 32 characters: it has the form urn:fss:/],
    ["a function that has a name and no form", /^function_graph_urn must have the form urn:fss:/],
    ["x".repeat(300), /^function_graph_urn must have at most 256 characters: it has the form urn/],
  ])("says how the name of a function looks: %s", (text, message) => {
    expect(() => requireFunctionUrn(text)).toThrow(message);
    expect(() => requireFunctionUrn(text)).toThrow(/:function:default:notes:latest$/);
  });
});
