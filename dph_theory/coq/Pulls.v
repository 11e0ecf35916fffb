(* How two penalties pull on logits: what has almost no mass comes back at its own pace, or at the reference's. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Updates.
Import ListNotations. Open Scope R_scope.
(* Along any direction d of the logits, the pull of the reverse KL and of the rehearsed forward KL. *)
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
(* Two bits that cannot see each other, of one lean m, against a base in which they agree with the
   odds to 1 that the answers 00 and 11 have. *)
Definition four_answers : list nat := [0; 1; 2; 3]%nat.
Definition zeros (y : nat) : R := nth y [2; 1; 1; 0] 0.
Definition two_bits (m : R) (y : nat) : R := nth y [(1 + m) / 2 * ((1 + m) / 2); (1 + m) / 2 * ((1 - m) / 2); (1 - m) / 2 * ((1 + m) / 2);
  (1 - m) / 2 * ((1 - m) / 2)] 0.
Definition agreeing (odds : R) (y : nat) : R := nth y [odds; 1; 1; odds] 0 / (2 * (1 + odds)).
Definition lean_logit (m : R) : R := ln (1 + m) - ln (1 - m).
Lemma two_bits_softmax : forall m y, -1 < m < 1 -> In y four_answers ->
  softmax four_answers (fun y => lean_logit m * zeros y) y = two_bits m y.
Proof.
  intros m y M I. assert (E : exp (lean_logit m) = (1 + m) / (1 - m)).
  { unfold lean_logit, Rminus. rewrite exp_plus, exp_Ropp, !exp_ln by lra. reflexivity. }
  assert (E2 : exp (lean_logit m * 2) = (1 + m) / (1 - m) * ((1 + m) / (1 - m))).
  { rewrite <- E, <- exp_plus. f_equal. ring. }
  assert (D : (1 + m) / (1 - m) * ((1 + m) / (1 - m)) + ((1 + m) / (1 - m) + ((1 + m) / (1 - m) + (1 + 0))) = 4 / ((1 - m) * (1 - m)))
    by (field; lra). unfold softmax, two_bits, zeros, four_answers in *.
  destruct I as [<-|[<-|[<-|[<-|[]]]]]; simpl; rewrite ?Rmult_1_r, ?Rmult_0_r, ?exp_0, ?E, ?E2, ?D.
  all: field; lra.
Qed.
Theorem penalties_on_two_bits : forall m odds, -1 < m < 1 -> 0 < odds ->
  let th := fun y => lean_logit m * zeros y in let pi := two_bits m in let a := agreeing odds in
  - Derive (fun t => kl four_answers (moved four_answers th zeros t) a) 0 =
    - sum four_answers (fun y => pi y * (zeros y - (1 + m)) * (ln (pi y) - ln (a y))) /\
  - sum four_answers (fun y => pi y * (zeros y - (1 + m)) * (ln (pi y) - ln (a y))) =
    (1 - m * m) / 2 * (m * ln odds - (ln (1 + m) - ln (1 - m))) /\
  - Derive (fun t => kl four_answers a (moved four_answers th zeros t)) 0 = sum four_answers (fun y => a y * (zeros y - (1 + m))) /\
  sum four_answers (fun y => a y * (zeros y - (1 + m))) = - m.
Proof.
  intros m o M O th pi a. assert (Pa : positive four_answers a).
  { intros y [<-|[<-|[<-|[<-|[]]]]]; unfold a, agreeing; simpl; apply Rdiv_lt_0_compat; lra. }
  assert (La : law four_answers a) by (split; [intros y I; apply Rlt_le, Pa, I|unfold a, agreeing, four_answers; simpl; field; lra]).
  assert (N : four_answers <> []) by discriminate. assert (S := two_bits_softmax m). fold th pi in S.
  assert (W : sum four_answers (fun z => softmax four_answers th z * zeros z) = 1 + m).
  { rewrite (sum_ext _ _ (fun z => pi z * zeros z)) by (intros; rewrite S; auto). unfold pi, two_bits, zeros, four_answers. simpl. field. }
  split; [|split; [|split]].
  - f_equal. rewrite reverse_kl_slope by auto. apply sum_ext. intros y I. unfold score. rewrite W, S by auto. reflexivity.
  - unfold pi, a, two_bits, agreeing, zeros, four_answers. simpl. unfold Rdiv. rewrite !ln_mult, !ln_Rinv, ?ln_1; try lra;
      try (apply Rinv_0_lt_compat; lra); try (apply Rmult_lt_0_compat; try lra; apply Rinv_0_lt_compat; lra).
  - rewrite rehearsed_pull by auto. rewrite (sum_ext _ _ (fun y => zeros y * a y - softmax four_answers th y * zeros y)) by (intros; ring).
    rewrite sum_minus, W, (sum_ext four_answers (fun y => a y * (zeros y - (1 + m))) (fun y => zeros y * a y - (1 + m) * a y)) by (intros; ring).
    rewrite sum_minus, sum_scale, (proj2 La). ring.
  - unfold a, agreeing, zeros, four_answers. simpl. field. lra.
Qed.
