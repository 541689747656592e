"""A user's script with typing errors: mypy finds each one, or says that its ignore is not needed. It is never run."""

import dptext_core as dpt

mechanism = dpt.get_mechanism("custext", epsilon=3)
result = mechanism.rewrite("My doctor treated my sister.", seed=1)
print(result.text, result.guarantee.sentence(), dpt.audit(mechanism, ["doctor"]).verdict)

dpt.get_mecanism("custext")  # type: ignore[attr-defined]
dpt.adit(mechanism)  # type: ignore[attr-defined]
mechanism.rewrite("My doctor.", sead=1)  # type: ignore[call-overload]
dpt.audit(mechanism, words=["doctor"])  # type: ignore[call-arg]
print(result.txt)  # type: ignore[attr-defined]
print(result.guarantee.sentense())  # type: ignore[attr-defined]
dpt.attacks.reed(mechanism, result)  # type: ignore[attr-defined]
dpt.metrics.scor("bleu", ["a"], ["b"])  # type: ignore[attr-defined]
for record in dpt.rewrite_records(["My doctor."], mechanism):
    print(record.txet)  # type: ignore[attr-defined]
