import type { ConfigBody } from "./body-content.ts";
import type { ProviderConfig } from "./module-config.ts";

/** Whether a provider block sets nothing but the names of the language. */
export function isEmptyProvider({ body }: Pick<ProviderConfig, "body">): boolean {
  return isEmptyBody(body);
}

function isEmptyBody(body: ConfigBody): boolean {
  switch (body.kind) {
    case "merged-body":
      return isEmptyBody(body.base) && isEmptyBody(body.over);
    case "json-body":
      return body.objects.every(({ members }) =>
        members.every(({ name }) => ["alias", "version", "for_each", "//"].includes(name.value)),
      );
    case "body":
    default:
      return body.items.every(
        (item) => item.kind === "attribute" && ["alias", "version", "for_each"].includes(item.name),
      );
  }
}
