import { createContext } from "react";

/** Gives the address of a worker in the form that a browser with trusted types starts it by. */
type TrustUrl = (url: URL) => string;

interface ScriptUrlPolicy {
  createScriptURL(url: string): string;
}

interface PolicyFactory {
  createPolicy(name: string, rules: ScriptUrlPolicy): ScriptUrlPolicy;
}

export const WorkerUrls = createContext<TrustUrl>(({ href }) => href);

/** The one policy of the page, which passes addresses of this server alone. A browser allows to make it once. */
export function createTrustedUrls(origin: string): TrustUrl {
  const { trustedTypes } = globalThis as { readonly trustedTypes?: PolicyFactory };
  const policy = trustedTypes?.createPolicy("stackwright", {
    createScriptURL: (text) => {
      if (new URL(text).origin !== origin) throw new TypeError("a script of another server");
      return text;
    },
  });
  return ({ href }) => policy?.createScriptURL(href) ?? href;
}
