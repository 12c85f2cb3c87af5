import { useMatch } from "@tanstack/react-router";
import {
  createContext,
  Fragment,
  type ReactNode,
  type RefObject,
  use,
  useEffect,
  useRef,
} from "react";

/** The page whose heading was shown last; undefined before the first one. */
export const ShownPage = createContext<RefObject<string | undefined>>({ current: undefined });

interface PageHeadProps {
  /** What the page is about; also the title of the window. */
  readonly title: string;
  /** Said before it in the title of the window, such as the tab. */
  readonly part?: string | undefined;
  readonly children?: ReactNode;
  readonly actions?: ReactNode;
}

/** The heading of a page. Focus goes to it where the user came from another page. */
export function PageHead({ title, part, children, actions }: PageHeadProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${part === undefined ? "" : `${part} – `}${title} – Stackwright`;
  }, [title, part]);
  // The address is that of the next page already while this one is still shown.
  const page = useMatch({ strict: false, select: ({ id }) => id });
  const shown = use(ShownPage);
  useEffect(() => {
    const former = shown.current;
    shown.current = page;
    if (former === undefined || former === page) return;
    // What led here may be gone with its page. What is still there, as a tab or a field, keeps the focus.
    const around = document.activeElement?.closest("main") ?? null;
    if (around !== null) return;
    heading.current?.focus({ preventScroll: true });
  }, [page, shown]);
  return (
    <header className="page-head">
      <div>
        <h1 ref={heading} tabIndex={-1}>
          {title.split(/(?<=\/)/).map((piece, index) => (
            // An address is broken between its parts first.
            <Fragment key={`${index} ${piece}`}>
              {index > 0 && <wbr />}
              {piece}
            </Fragment>
          ))}
        </h1>
        {children}
      </div>
      {actions !== undefined && <div className="actions">{actions}</div>}
    </header>
  );
}
