import { Link } from "@tanstack/react-router";
import { useCurrentInView } from "./use-current-in-view.ts";

interface TabItem {
  readonly to: string;
  readonly label: string;
  readonly exact?: boolean;
}

/** Pages of one thing. They are links, so that each can be opened in another window. */
export function Tabs({
  label,
  items,
}: {
  readonly label: string;
  readonly items: readonly TabItem[];
}) {
  const nav = useCurrentInView();
  return (
    <nav ref={nav} className="tabs" aria-label={label}>
      {items.map(({ to, label: text, exact = false }) => (
        <Link key={to} to={to} activeOptions={{ exact, includeSearch: false }}>
          {text}
        </Link>
      ))}
    </nav>
  );
}
