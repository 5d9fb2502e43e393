import { Link, type LinkProps } from "@tanstack/react-router";
import { usePhone } from "./media";

/** A link in a cell of a list; plain text on phones, where the whole row is one button. */
export function RowLink({ className, children, title, ...to }: Pick<LinkProps, "to" | "search"> & { className?: string; title?: string; children: React.ReactNode }) {
  if (usePhone()) return <span className={className}>{children}</span>;
  return (
    <Link {...to} title={title} className={className}>
      {children}
    </Link>
  );
}
