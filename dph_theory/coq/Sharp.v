(* The sharp form of the improvement bound, by the visits that two policies share, and the chain that attains it. *)
Require Import Reals List Lra Lia. From Coquelicot Require Import Coquelicot.
From Kernel Require Import Laws Extremes Pinsker KLControl Processing Returns.
Import ListNotations. Open Scope R_scope.

Section Common.
Context {S A : Type} (ss : list S) (acts : list A) (P : S -> A -> S -> R) (r : S -> A -> R) (gamma : R) (rho : S -> R).
Definition lower (x y : R) : R := (x + y - Rabs (x - y)) / 2.
Lemma lower_is : forall x y, lower x y <= x /\ lower x y <= y /\ (0 <= x -> 0 <= y -> 0 <= lower x y).
Proof. intros x y. unfold lower. destruct (Rcase_abs (x - y)); [rewrite Rabs_left|rewrite Rabs_right]; lra. Qed.
(* What both policies do alike, and the visits along which they never part, of at most n steps. *)
Definition alike (pi old : S -> A -> R) (s s' : S) : R := sum acts (fun a => lower (pi s a) (old s a) * P s a s').
Fixpoint shared (pi old : S -> A -> R) (n : nat) (s : S) : R :=
  match n with O => 0 | Datatypes.S k => (1 - gamma) * rho s + gamma * through ss (alike pi old) (shared pi old k) s end.
Lemma shared_below : forall pi old q d n, process ss acts P gamma rho -> channel ss acts pi -> channel ss acts old ->
  (forall s a, lower (pi s a) (old s a) <= q s a) -> visited ss acts P gamma rho q d ->
  forall s, In s ss -> 0 <= shared pi old n s <= d s.
Proof.
  intros pi old q d n (_ & _ & T & Lr & G) C C' B [Ld D]. induction n as [|n IH]; intros s I; simpl; [split; [lra|apply Ld, I]|].
  assert (K : forall x, In x ss -> 0 <= alike pi old x s <= move acts P q x s).
  { intros x J. unfold alike, move. split.
    - apply sum_nonneg. intros a H. apply Rmult_le_pos; [apply lower_is; [apply (C x J), H|apply (C' x J), H]|apply (T x J a H), I].
    - apply sum_le. intros a H. apply Rmult_le_compat_r; [apply (T x J a H), I|apply B]. }
  assert (L : 0 <= through ss (alike pi old) (shared pi old n) s <= through ss (move acts P q) d s).
  { unfold through. split.
    - apply sum_nonneg. intros x J. apply Rmult_le_pos; [apply IH, J|apply K, J].
    - apply sum_le. intros x J. destruct (IH x J), (K x J). apply Rmult_le_compat; lra. }
  rewrite (D s I). assert (X := proj1 Lr s I). split; [|nra]. assert (0 <= (1 - gamma) * rho s) by (apply Rmult_le_pos; lra).
  assert (0 <= gamma * through ss (alike pi old) (shared pi old n) s) by (apply Rmult_le_pos; lra). lra.
Qed.
Lemma shared_mass : forall pi old d n, process ss acts P gamma rho -> channel ss acts pi -> channel ss acts old ->
  visited ss acts P gamma rho pi d -> let k := gamma * (1 - farthest ss acts pi old) in 0 <= k < 1 ->
  (1 - gamma) / (1 - k) * (1 - k ^ n) <= sum ss (shared pi old n).
Proof.
  intros pi old d n H C C' D k K. assert (B := fun n => shared_below pi old pi d n H C C' (fun s a => proj1 (lower_is _ _)) D).
  destruct H as (N & _ & T & Lr & G). induction n as [|n IH]; simpl; [right; rewrite sum_zero by auto; ring|].
  rewrite sum_plus, !sum_scale, (proj2 Lr). assert (M : sum ss (through ss (alike pi old) (shared pi old n)) =
    sum ss (fun s => shared pi old n s * (1 - distance acts pi old s))).
  { unfold through. rewrite <- sum_swap. apply sum_ext. intros s I. rewrite sum_scale. f_equal. unfold alike. rewrite <- sum_swap.
    rewrite (sum_ext acts _ (fun a => / 2 * (pi s a + old s a - Rabs (pi s a - old s a)))).
    - rewrite sum_scale, sum_minus, sum_plus, (proj2 (C s I)), (proj2 (C' s I)). unfold distance, tv. field.
    - intros a J. rewrite sum_scale, (proj2 (T s I a J)). unfold lower. field. }
  assert (Q : (1 - farthest ss acts pi old) * sum ss (shared pi old n) <= sum ss (fun s => shared pi old n s * (1 - distance acts pi old s))).
  { rewrite <- sum_scale. apply sum_le. intros s I. rewrite Rmult_comm. apply Rmult_le_compat_l; [apply B, I|].
    assert (F := le_highest ss (distance acts pi old) s I). unfold farthest. lra. }
  rewrite <- M in Q. apply (Rmult_le_compat_l gamma) in Q; [|lra]. rewrite <- Rmult_assoc in Q. fold k in Q.
  apply (Rmult_le_compat_l k) in IH; [|lra].
  replace ((1 - gamma) / (1 - k) * (1 - k * k ^ n)) with ((1 - gamma) * 1 + k * ((1 - gamma) / (1 - k) * (1 - k ^ n))) by (field; lra). lra.
Qed.
Lemma visits_apart : forall pi old d e, process ss acts P gamma rho -> channel ss acts pi -> channel ss acts old ->
  visited ss acts P gamma rho pi d -> visited ss acts P gamma rho old e -> farthest ss acts pi old <= 1 -> 0 <= farthest ss acts pi old ->
  let t := farthest ss acts pi old in sum ss (fun s => Rabs (e s - d s)) / 2 <= gamma * t / (1 - gamma + gamma * t).
Proof.
  intros pi old d e H C C' D E T1 T0 t. fold t in T1, T0. assert (G : 0 <= gamma < 1) by apply H. set (k := gamma * (1 - t)).
  assert (K : 0 <= k < 1) by (unfold k; nra). set (c := (1 - gamma) / (1 - k)).
  assert (c0 : 0 <= c) by (apply Rdiv_le_0_compat; lra).
  replace (gamma * t / (1 - gamma + gamma * t)) with (1 - c) by (unfold c, k in *; field; nra).
  assert (B : forall n, sum ss (fun s => Rabs (e s - d s)) / 2 <= 1 - c + c * k ^ n).
  { intro n. assert (M := shared_mass pi old d n H C C' D K). change (c * (1 - k ^ n) <= sum ss (shared pi old n)) in M.
    assert (X := shared_below pi old pi d n H C C' (fun s a => proj1 (lower_is _ _)) D).
    assert (Y := shared_below pi old old e n H C C' (fun s a => proj1 (proj2 (lower_is _ _))) E).
    apply Rle_trans with ((2 - 2 * sum ss (shared pi old n)) / 2); [|lra]. apply Rmult_le_compat_r; [lra|].
    replace (2 - 2 * sum ss (shared pi old n)) with (sum ss (fun s => (d s - shared pi old n s) + (e s - shared pi old n s)))
      by (rewrite sum_plus, !sum_minus, (proj2 (proj1 D)), (proj2 (proj1 E)); ring).
    apply sum_le. intros s I. specialize (X s I). specialize (Y s I). apply Rabs_le. lra. }
  destruct (Rle_or_lt (sum ss (fun s => Rabs (e s - d s)) / 2) (1 - c)) as [|L]; [assumption|exfalso].
  destruct (pow_lt_1_zero k ltac:(rewrite Rabs_right; lra) ((sum ss (fun s => Rabs (e s - d s)) / 2 - (1 - c)) / (c + 1))) as (n & Hn).
  { apply Rdiv_lt_0_compat; lra. }
  specialize (Hn n (le_n n)). rewrite Rabs_right in Hn by (apply Rle_ge, pow_le; lra). specialize (B n).
  apply (Rmult_lt_compat_r (c + 1)) in Hn; [|lra]. unfold Rdiv in Hn at 1. rewrite Rmult_assoc, Rinv_l in Hn by lra.
  assert (0 <= k ^ n) by (apply pow_le; lra). lra.
Qed.
Theorem sharp_form : forall pi old V W d e, pair ss acts P r gamma rho pi old V W d e ->
  let t := farthest ss acts pi old in
  (1 - gamma) ^ 2 * (forecast ss acts P r gamma rho V e pi - return_of ss rho W) <=
  4 * worst_advantage ss acts P r gamma V * gamma * t ^ 2 * (1 - gamma) / (1 - gamma + gamma * t).
Proof.
  intros pi old V W d e H t. assert (K := shortfall_is ss acts P r gamma rho pi old V W d e H). destruct H as (G & C & C' & HW & HV & D & E).
  destruct (span_small ss acts P r gamma rho pi old V G C C' HV) as (B & Q & F). fold t in B, F. assert (T1 : t <= 1).
  { apply highest_le; [apply G|]. intros s I. unfold distance, tv.
    assert (sum acts (fun a => Rabs (pi s a - old s a)) <= sum acts (fun a => pi s a + old s a)).
    { apply sum_le. intros a J. assert (X := proj1 (C s I) a J). assert (Y := proj1 (C' s I) a J). apply Rabs_le. lra. }
    rewrite sum_plus, (proj2 (C s I)), (proj2 (C' s I)) in H. lra. }
  assert (X := visits_apart pi old d e G C C' D E T1 F). cbv zeta in X. fold t in X.
  assert (Z : sum ss (fun s => e s - d s) = 0) by (rewrite sum_minus, (proj2 (proj1 D)), (proj2 (proj1 E)); ring).
  assert (Y := sum_by_span ss (fun s => e s - d s) (gained ss acts P r gamma V pi) (proj1 G) Z). cbv beta in Y. rewrite <- K in Y.
  assert (g : 0 <= gamma < 1) by apply G. assert (den : 0 < 1 - gamma + gamma * t) by nra.
  set (w := worst_advantage ss acts P r gamma V) in *. set (x := sum ss (fun s => Rabs (e s - d s)) / 2) in *.
  assert (x0 : 0 <= x) by (apply Rmult_le_pos; [apply sum_nonneg; intros s _; apply Rabs_pos|lra]).
  assert (U : x * span ss (gained ss acts P r gamma V pi) <= gamma * t / (1 - gamma + gamma * t) * (4 * t * w)).
  { apply Rle_trans with (x * (4 * t * w)); [apply Rmult_le_compat_l; auto|]. apply Rmult_le_compat_r; [|exact X].
    apply Rmult_le_pos; [lra|exact Q]. }
  apply Rle_trans with ((1 - gamma) * (gamma * t / (1 - gamma + gamma * t) * (4 * t * w))); [|right; field; lra].
  replace ((1 - gamma) ^ 2 * (forecast ss acts P r gamma rho V e pi - return_of ss rho W)) with
    ((1 - gamma) * ((1 - gamma) * (forecast ss acts P r gamma rho V e pi - return_of ss rho W))) by ring. apply Rmult_le_compat_l; lra.
Qed.
End Common.
(* Two states, three actions; the rewards are the old policy's advantages, so that its value is 0. *)
Definition chain_acts : list nat := [0; 1; 2]%nat.
Definition at_first (s : nat) : R := if Nat.eqb s 0 then 1 else 0.
Definition chain_moves (s a s' : nat) : R := if andb (Nat.eqb s 0) (negb (Nat.eqb a 2)) then at_first s' else 1 - at_first s'.
Definition chain_pays (t eps : R) (s a : nat) : R := (if Nat.eqb s 0 then eps else - eps) * nth a [-1; t / (1 - t); 1] 0.
Definition chain_old (t : R) (s a : nat) : R := nth a [t; 1 - t; 0] 0.
Definition chain_new (t : R) (s a : nat) : R := nth a [0; 1 - t; t] 0.
Definition chain_value (gamma t eps : R) (s : nat) : R :=
  if Nat.eqb s 0 then (2 * t * eps - gamma * t * (2 * t * eps / (1 - gamma))) / (1 - gamma + gamma * t) else - (2 * t * eps / (1 - gamma)).
Definition chain_visits (gamma t : R) (s : nat) : R := if Nat.eqb s 0 then (1 - gamma) / (1 - gamma + gamma * t) else gamma * t / (1 - gamma + gamma * t).
Theorem sharp_form_attained : forall gamma t eps, 0 <= gamma < 1 -> 0 < t <= 1 / 2 -> 0 < eps -> let states := [0; 1]%nat in
  pair states chain_acts chain_moves (chain_pays t eps) gamma at_first (chain_new t) (chain_old t) (fun _ => 0) (chain_value gamma t eps)
    (chain_visits gamma t) at_first /\
  worst_advantage states chain_acts chain_moves (chain_pays t eps) gamma (fun _ => 0) = eps /\
  farthest states chain_acts (chain_new t) (chain_old t) = t /\
  (1 - gamma) ^ 2 * (forecast states chain_acts chain_moves (chain_pays t eps) gamma at_first (fun _ => 0) at_first (chain_new t)
    - return_of states at_first (chain_value gamma t eps)) = 4 * eps * gamma * t ^ 2 * (1 - gamma) / (1 - gamma + gamma * t).
Proof.
  intros g t eps G T E states. assert (den : 0 < 1 - g + g * t) by nra.
  assert (law3 : forall f : nat -> R, (forall a, 0 <= f a) -> f 0%nat + (f 1%nat + (f 2%nat + 0)) = 1 -> law chain_acts f)
    by (intros f H Q; split; [intros a _; apply H|exact Q]).
  assert (C : channel states chain_acts (chain_new t)).
  { intros s _. apply law3; [intros [|[|[|[|a]]]]; unfold chain_new; simpl; lra|unfold chain_new; simpl; ring]. }
  assert (C' : channel states chain_acts (chain_old t)).
  { intros s _. apply law3; [intros [|[|[|[|a]]]]; unfold chain_old; simpl; lra|unfold chain_old; simpl; ring]. }
  split; [|split; [|split]].
  - split; [split; [discriminate|split; [discriminate|split; [|split; [|exact G]]]]|split; [exact C|split; [exact C'|split; [|split; [|split]]]]].
    + intros s Is a Ia. split; [intros s' _; unfold chain_moves, at_first; destruct (andb _ _), (Nat.eqb s' 0); lra|].
      unfold chain_moves, states, at_first. destruct (andb _ _); simpl; ring.
    + split; [intros s _; unfold at_first; destruct (Nat.eqb s 0); lra|unfold states, at_first; simpl; ring].
    + intros s [<-|[<-|[]]]; unfold action_value, chain_value, chain_new, chain_pays, chain_moves, at_first; simpl; field; lra.
    + intros s [<-|[<-|[]]]; unfold action_value, chain_old, chain_pays, chain_moves, at_first; simpl; field; lra.
    + split; [split|].
      * intros s _. unfold chain_visits. destruct (Nat.eqb s 0); apply Rdiv_le_0_compat; nra.
      * unfold chain_visits; simpl. field. lra.
      * intros s [<-|[<-|[]]]; unfold chain_visits, through, move, chain_new, chain_moves, at_first; simpl; field; lra.
    + split; [split; [intros s _; unfold at_first; destruct (Nat.eqb s 0); lra|unfold states, at_first; simpl; ring]|].
      intros s [<-|[<-|[]]]; unfold through, move, chain_old, chain_moves, at_first; simpl; ring.
  - assert (Q : 0 <= eps * (t / (1 - t)) <= eps).
    { assert (0 <= t / (1 - t) <= 1); [|nra]. split; [apply Rdiv_le_0_compat; lra|]. apply Rmult_le_reg_r with (1 - t); [lra|].
      unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
    assert (Adv : forall s a, advantage states chain_moves (chain_pays t eps) g (fun _ => 0) s a = chain_pays t eps s a).
    { intros. unfold advantage, action_value. rewrite sum_zero by (intros; ring). ring. }
    apply Rle_antisym.
    + apply highest_le; [discriminate|]. intros s Is. apply highest_le; [discriminate|]. intros a Ia. rewrite Adv. unfold chain_pays.
      destruct (Nat.eqb s 0), Ia as [<-|[<-|[<-|[]]]]; simpl; apply Rabs_le; lra.
    + apply Rle_trans with (Rabs (advantage states chain_moves (chain_pays t eps) g (fun _ => 0) 0%nat 2%nat)).
      * rewrite Adv. unfold chain_pays. simpl. rewrite Rabs_right; lra.
      * apply Rle_trans with (highest chain_acts (fun a => Rabs (advantage states chain_moves (chain_pays t eps) g (fun _ => 0) 0%nat a))).
        -- apply (le_highest chain_acts (fun a => Rabs (advantage states chain_moves (chain_pays t eps) g (fun _ => 0) 0%nat a))). simpl; auto.
        -- apply (le_highest states (fun s => highest chain_acts (fun a => Rabs (advantage states chain_moves (chain_pays t eps) g (fun _ => 0) s a)))). simpl; auto.
  - assert (F : forall s, distance chain_acts (chain_new t) (chain_old t) s = t).
    { intro s. unfold distance, tv, chain_new, chain_old. simpl. rewrite (Rabs_left (0 - t)), (Rabs_right (t - 0)) by lra.
      replace (1 - t - (1 - t)) with 0 by ring. rewrite Rabs_R0. field. }
    unfold farthest. destruct (highest_in states (distance chain_acts (chain_new t) (chain_old t)) ltac:(discriminate)) as (s & _ & ->). apply F.
  - unfold forecast, return_of, gained, advantage, action_value, chain_value, chain_pays, chain_new, chain_moves, at_first; simpl. field. lra.
Qed.
