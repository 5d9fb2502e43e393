import { History, Pencil } from "lucide-react";
import { ADMIN, unwrap } from "@/api/client";
import { useSave } from "@/api/save";
import { Button } from "@/components/Button";
import { asYaml, CopyAs } from "@/components/CopyAs";
import { CodeBlock } from "@/components/CodeBlock";
import { DiffView } from "@/components/DiffView";
import { Drawer } from "@/components/Drawer";
import { Note } from "@/components/Note";
import { moment } from "@/format";
import { activate, bodyOf, comparable, deactivate, WORKFLOWS, type Version } from "./queries";

type VersionDrawerProps = { version: Version; active: Version | null; onClose: () => void; onEdit?: (from: Version) => void };

/** One version beside the one in force, and the way back to it. */
export function VersionDrawer({ version, active, onClose, onEdit }: VersionDrawerProps) {
  const current = active && active.id !== version.id ? active : null;
  const back = useSave({
    write: () => activate(version.id),
    invalidates: [WORKFLOWS, ["changes"]],
    done: () => `Version ${version.version} is in force`,
    undo: () => unwrap<unknown>(current ? activate(current.id) : deactivate(version.id)),
    onSuccess: onClose,
  });
  const title = version.managed_default ? "Built-in version" : `Version ${version.version}`;
  return (
    <Drawer
      title={title}
      sub={version.created_at ? `${moment(version.created_at)} · ${version.created_by}` : version.created_by}
      onClose={onClose}
      actions={<CopyAs call={{ method: "POST", path: `${ADMIN}/workflows/${version.id}/activate` }} yaml={bodyOf(version)} />}
      footer={
        <>
          <span className="ml-auto" />
          {onEdit && (
            <Button
              icon={Pencil}
              onClick={() => {
                onClose();
                onEdit(version);
              }}
            >
              Edit as new version
            </Button>
          )}
          {onEdit && !version.active && (
            <Button look="primary" icon={History} busy={back.busy} onClick={() => back.mutate({ input: null })}>
              {current && current.version > version.version ? "Roll back to this version" : "Activate version"}
            </Button>
          )}
        </>
      }
    >
      {version.error && (
        <Note kind="bad" className="mb-4">
          {version.error}
        </Note>
      )}
      {current ? (
        <>
          <h3 className="mb-2 text-small font-medium">
            From version {current.version}, which is in force, to {title.toLowerCase()}
          </h3>
          <DiffView before={comparable(bodyOf(current))} after={comparable(bodyOf(version))} className="mb-5" />
        </>
      ) : (
        version.active && (
          <Note kind="ok" className="mb-4">
            This version is in force.
          </Note>
        )
      )}
      <h3 className="mb-2 text-small font-medium">The whole version</h3>
      <CodeBlock code={asYaml(bodyOf(version))} language="yaml" />
    </Drawer>
  );
}
