import { describe, expect, it } from "vitest";
import { remoteStateMethods, stateEncryption } from "./state-encryption.ts";

const METHODS = `
key_provider "pbkdf2" "k" {
  passphrase = "correct horse battery"
}
method "aes_gcm" "a" {
  keys = key_provider.pbkdf2.k
}
method "unencrypted" "u" {}
`;

function read(state: string): { readonly state: readonly string[]; readonly problems: string[] } {
  const found = stateEncryption(undefined, { text: `${METHODS}\nstate {\n${state}\n}\n` });
  return { state: found.state, problems: found.diagnostics.map(({ summary }) => summary) };
}

describe("stateEncryption", () => {
  it("has the method that encrypts, then those that may have encrypted", () => {
    const fallback = "fallback {\n  method = method.unencrypted.u\n}";
    expect(read(`method = method.aes_gcm.a\n${fallback}`)).toEqual({
      state: ["method.aes_gcm.a", "method.unencrypted.u"],
      problems: [],
    });
  });

  it.each([
    [
      "fallbacks alone",
      "fallback {\n  method = method.unencrypted.u\n}",
      "Method of encryption required",
    ],
    ["no method where one is enforced", "enforced = true", "Method of encryption required"],
    [
      "states in the clear where encryption is enforced",
      "method = method.unencrypted.u\nenforced = true",
      "Unencrypted states forbidden",
    ],
    [
      "a fallback in the clear where encryption is enforced",
      "method = method.aes_gcm.a\nenforced = true\nfallback {\n  method = method.unencrypted.u\n}",
      "Unencrypted states forbidden",
    ],
  ])("does not take %s for a way to write", (_what, state, problem) => {
    expect(read(state).problems).toEqual([problem]);
  });

  it("has the methods of other states by the data source that reads them", () => {
    const found = stateEncryption(undefined, {
      text: `${METHODS}
remote_state_data_sources {
  default {
    method = method.aes_gcm.a
  }
  remote_state_data_source "plain" {
    method = method.unencrypted.u
  }
  remote_state_data_source "child.many[1]" {
    method = method.aes_gcm.a
    fallback {
      method = method.unencrypted.u
    }
  }
}
`,
    });
    expect(found.diagnostics).toEqual([]);
    expect(found.state).toEqual([]);
    const of = (address: string) => remoteStateMethods(found, address);
    expect(of("data.terraform_remote_state.network")).toEqual(["method.aes_gcm.a"]);
    expect(of("data.terraform_remote_state.plain")).toEqual(["method.unencrypted.u"]);
    const both = ["method.aes_gcm.a", "method.unencrypted.u"];
    expect(of("module.child.data.terraform_remote_state.many[1]")).toEqual(both);
    expect(of("module.child.data.terraform_remote_state.many[0]")).toEqual(["method.aes_gcm.a"]);
    const none = stateEncryption(undefined, { text: METHODS });
    expect(remoteStateMethods(none, "data.terraform_remote_state.network")).toEqual([]);
  });
});
