(* How two penalties pull on logits: what has almost no mass comes back at its own pace, or at the reference's (E7). *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Updates.
Import ListNotations. Open Scope R_scope.
(* E7: along any direction d of the logits, the pull of the reverse KL and of the rehearsed forward KL. *)
Theorem on_policy_pull {Y} : forall (ys : list Y) th d ref, ys <> [] -> positive ys ref ->
  - Derive (fun t => kl ys (moved ys th d t) ref) 0 = sum ys (fun y => d y * (softmax ys th y *
    (kl ys (softmax ys th) ref - (ln (softmax ys th y) - ln (ref y))))).
Proof.
  intros ys th d ref N P. rewrite reverse_kl_slope by auto. unfold score, kl. set (q := softmax ys th).
  set (D := sum ys (fun z => q z * d z)). set (K := sum ys (fun y => q y * (ln (q y) - ln (ref y)))).
  rewrite (sum_ext ys _ (fun y => q y * d y * (ln (q y) - ln (ref y)) - D * (q y * (ln (q y) - ln (ref y))))) by (intros; ring).
  rewrite (sum_ext ys (fun y => d y * _) (fun y => K * (q y * d y) - q y * d y * (ln (q y) - ln (ref y)))) by (intros; ring).
  rewrite !sum_minus, !sum_scale. fold K D. ring.
Qed.
Theorem rehearsed_pull {Y} : forall (ys : list Y) th d ref, ys <> [] -> law ys ref -> positive ys ref ->
  - Derive (fun t => kl ys ref (moved ys th d t)) 0 = sum ys (fun y => d y * (ref y - softmax ys th y)).
Proof.
  intros ys th d ref N [_ S] P. destruct (softmax_law ys th N) as [_ Q]. unfold kl.
  rewrite (derive_sum_along ys th d (fun y p => ref y * (ln (ref y) - ln p)) (fun y => - (ref y / softmax ys th y)) N).
  - rewrite (sum_ext ys _ (fun y => sum ys (fun z => softmax ys th z * d z) * ref y - ref y * d y)).
    + rewrite sum_minus, sum_scale, S, (sum_ext ys (fun y => d y * _) (fun y => ref y * d y - softmax ys th y * d y)) by (intros; ring).
      rewrite sum_minus. ring.
    + intros y I. unfold score. assert (H := Q y). field. lra.
  - intros y I. assert (H := Q y). auto_derive; [lra|]. field. lra.
Qed.
