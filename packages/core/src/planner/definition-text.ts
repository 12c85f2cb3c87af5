import type { ConfigBody, Expression, GraphNode, ScopeTraversal } from "@stackwright/lang";

/**
 * Calls of functions whose result is not the same again: of files, which may have changed, and of the time. Found in the text by the parenthesis behind a
 * name, or a comment that may stand before it: more than there are does no harm. An attribute of such a name is no call. `templatestring` calls what its
 * template names, which is a value.
 */
const IMPURE =
  /\b(?:file(?:exists|set|md5|sha1|sha256|sha512|base64(?:sha256|sha512)?)?|template(?:file|string)|plantimestamp|timestamp|uuid|bcrypt)\s*(?:\(|#|\/\/|\/\*)/;

/** What `source`, `start` and `end` say of a node of the syntax. */
type Written = Pick<Expression, "source" | "start" | "end">;

/**
 * What a node of the graph consists of, as text: two that are equal give the same for the same inputs. Undefined where that
 * cannot be said: what is written in JSON, reads files or the time, or is given from outside.
 */
export function definitionText(node: GraphNode): string | undefined {
  const { folder, packageFolder = "" } = node.module;
  const own = ownText(node);
  if (own === undefined) return undefined;
  return `${packageFolder}\0${folder}\0${own}`;
}

function ownText(node: GraphNode): string | undefined {
  switch (node.kind) {
    case "variable": {
      // Values of the root module are given.
      if (node.module.path.length === 0) return undefined;
      // A block may be anywhere in its file, and is more than its header.
      const { source } = node.variable.range;
      return joined([pureText(source.text), writtenText(node.argument?.expression)]);
    }
    case "local":
      return writtenText(node.local.expression);
    case "output": {
      const { expression, dependsOn, sensitive, ephemeral, deprecated, preconditions } =
        node.output;
      if (preconditions.length > 0) return undefined;
      const flags = JSON.stringify([sensitive, ephemeral, deprecated]);
      return joined([flags, writtenText(expression), listText(dependsOn)]);
    }
    case "resource":
      // Which of several instances of a configuration an instance has is found with it.
      if (node.provider?.instances !== undefined) return undefined;
      // Which configuration of a provider a reference means is said by the callers of the module.
      return joined([node.provider?.address ?? "", bodyText(node.resource.body)]);
    case "module": {
      const { count, forEach, enabled, dependsOn, source } = node.call;
      const parts = [count, forEach, enabled].map(writtenText);
      return joined([source, ...parts, listText(dependsOn)]);
    }
    case "provider": {
      const { config, source } = node.provider;
      // A configuration of a test file refers to something else than the module.
      if (config?.scope !== undefined) return undefined;
      return joined([source.toString(), config === undefined ? "" : bodyText(config.body)]);
    }
    case "validation":
    case "check":
      return undefined;
    case "module-outputs":
      return JSON.stringify([...node.child.config.outputs.keys()]);
    case "module-end":
      return "";
    default:
      return node satisfies never;
  }
}

function bodyText(body: ConfigBody): string | undefined {
  if (body.kind === "json-body") return undefined;
  if (body.kind === "merged-body") return joined([bodyText(body.base), bodyText(body.over)]);
  return writtenText(body);
}

function writtenText(node: Written | undefined): string | undefined {
  if (node === undefined) return "";
  // Of a JSON file: what escapes in its strings stand for is not in the text.
  if (node.source.embedding !== undefined) return undefined;
  return pureText(node.source.text.slice(node.start, node.end));
}

/** Judged as it is written: escapes of JSON, as of a tabulator, would join what stands before a name to it. */
function pureText(text: string): string | undefined {
  return IMPURE.test(text) ? undefined : text;
}

function listText(traversals: readonly ScopeTraversal[]): string | undefined {
  return joined(traversals.map(writtenText));
}

function joined(parts: readonly (string | undefined)[]): string | undefined {
  return parts.includes(undefined) ? undefined : JSON.stringify(parts);
}
